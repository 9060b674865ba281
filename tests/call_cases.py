"""Calls to compare under PyTorch and under us: value, dtype, shape and strides, or the exception type.

`;;` separates statements; the last one is the expression that is compared.
"""

CALLS = """
torch.ones(3)+'a'
torch.ones(3)+None
torch.ones(3)=='a'
torch.ones(3)!=None
torch.ones(3)+[1,2,3]
torch.ones(3)+np.ones(3)
np.ones(3)+torch.ones(3)
np.float32(2)*torch.ones(3)
torch.ones(3)*np.float64(2)
torch.ones(3)*np.int64(2)
2-torch.ones(3)
2/torch.full((3,),3.)
2**torch.full((3,),3.)
7//torch.full((3,),3.)
7%torch.full((3,),4.)
torch.tensor(5)//2
True+torch.ones(2)
torch.ones(2,dtype=torch.int64)+1.5
torch.ones(2,dtype=torch.int64)*True
torch.ones(2,dtype=torch.bool)&True
1|torch.tensor([1,2])
torch.tensor([1,2])<<1
~torch.tensor([True,False])
bool(torch.ones(2))
bool(torch.ones(0))
bool(torch.zeros(1))
int(torch.tensor(3.7))
float(torch.tensor(3))
complex(torch.tensor(3.))
[1,2,3][torch.tensor(1)]
[1,2,3][torch.tensor(1.)]
[1,2,3][torch.tensor([1])]
len(torch.ones(3,2))
len(torch.tensor(1))
torch.ones(2,3).item()
torch.ones(1,1).item()
torch.tensor(True).item()
torch.tensor(3,dtype=torch.uint8).item()
torch.tensor([[1,2],[3,4]]).tolist()
torch.tensor(2.5).tolist()
torch.tensor([1,2.5])
torch.tensor([True,2])
torch.tensor([1,2+3j])
torch.tensor([])
torch.tensor([[],[]])
torch.tensor([[1,2],[3]])
torch.tensor([1,[2]])
torch.tensor('abc')
torch.tensor(['a'])
torch.tensor(None)
torch.tensor([None])
torch.tensor({})
torch.tensor(np.float32(2))
torch.tensor(np.float64(2))
torch.tensor(np.int32(2))
torch.tensor([np.float32(2),1])
torch.tensor(np.arange(6).reshape(2,3))
torch.tensor([np.arange(3),np.arange(3)])
torch.tensor([torch.tensor(1),torch.tensor(2.)])
torch.tensor([torch.ones(2)])
torch.tensor(300,dtype=torch.uint8)
torch.tensor([1.7],dtype=torch.int32)
torch.tensor([1+2j],dtype=torch.float32)
torch.tensor(1,dtype=float)
torch.tensor(1,dtype=int)
torch.tensor(1,dtype=bool)
torch.tensor(1,dtype='float32')
torch.tensor(1.0,requires_grad=True).requires_grad
torch.tensor(1,requires_grad=True)
torch.tensor(range(4))
torch.tensor((1,2))
torch.tensor(1,2)
torch.tensor()
torch.as_tensor([1,2])
torch.from_numpy(np.arange(6.).reshape(2,3)[:,::2])
torch.from_numpy(np.arange(6)[::-1])
torch.from_numpy([1])
torch.from_numpy(np.array(['a']))
torch.from_numpy(np.array([1],dtype='>i4'))
torch.from_numpy(np.float32(1))
torch.ones(2,3).numpy()
torch.ones(2,requires_grad=True).numpy()
torch.ones(2,dtype=torch.bfloat16).numpy()
torch.ones(2,dtype=torch.complex64).numpy()
torch.ones(2).numpy().dtype
np.asarray(torch.ones(2,2))
np.array(torch.tensor(1))
torch.ones(2,3).shape
torch.ones(2,3).size()
torch.ones(2,3).size(1)
torch.ones(2,3).size(-3)
torch.ones(2,3).size('a')
torch.ones(2,3).stride()
torch.ones(2,3).stride(0)
torch.ones(2,3).shape[0:1]
torch.ones(2,3).shape+(1,)
(1,)+torch.ones(2,3).shape
torch.ones(2,3).shape*2
torch.Size([2,3]).numel()
torch.Size((1.5,))
torch.Size(3)
torch.ones(2,3).T
torch.ones(2,3).mT
torch.ones(3).mT
torch.ones(2,3,4).H
torch.ones(2,3).H
torch.ones(2,dtype=torch.complex64).real
torch.ones(2,dtype=torch.complex64).imag
torch.ones(2).imag
torch.ones(2,3).dim()
torch.ones(2,3).ndim
torch.ones(2,3).nbytes
torch.ones(2,3).element_size()
torch.ones(2,3).is_contiguous()
torch.ones(2,3).t().is_contiguous()
torch.ones(2,3,4,5).is_contiguous(memory_format=torch.channels_last)
torch.ones(2).is_floating_point()
torch.ones(2).storage_offset()
torch.ones(4)[1:].storage_offset()
torch.ones(2).device
torch.ones(2).layout
torch.ones(2)._version
x=torch.ones(2) ;; x.add_(1) ;; x._version
torch.ones(2).is_leaf
(torch.ones(2,requires_grad=True)*2).is_leaf
x=torch.ones(2,requires_grad=True)*2 ;; x.requires_grad=False ;; x.requires_grad
x=torch.ones(2,dtype=torch.int64) ;; x.requires_grad=True ;; x
x=torch.ones(2,dtype=torch.int64) ;; x.requires_grad_()
x=torch.ones(2) ;; x.grad=torch.ones(3) ;; x.grad
x=torch.ones(2) ;; x.grad=5 ;; x.grad
x=torch.ones(2) ;; x.grad=torch.ones(2,dtype=torch.float64) ;; x.grad
x=torch.ones(2) ;; x.grad=x ;; x.grad is x
x=torch.ones(2,requires_grad=True) ;; x.add_(1)
x=torch.ones(4) ;; x.data=torch.zeros(2) ;; x
torch.ones(2,3).foo
torch.add(torch.ones(2))
torch.add(torch.ones(2),torch.ones(2),foo=1)
torch.add(torch.ones(2),other=torch.ones(2))
torch.add(torch.ones(2),torch.ones(2),input=torch.ones(2))
torch.add(torch.ones(2),torch.ones(2),torch.ones(2))
torch.add(1,2)
torch.add('a',torch.ones(2))
torch.add(torch.ones(2),torch.ones(2),alpha=2)
torch.add(torch.ones(2),torch.ones(3))
torch.add(torch.ones(2),1,out=torch.empty(2))
torch.sum(torch.ones(2,3),dim=1)
torch.sum(torch.ones(2,3),axis=1)
torch.sum(torch.ones(2,3),1,keepdims=True)
torch.ones(2,3).sum(1,0)
torch.ones(2,3).sum((0,1))
torch.ones(2,3).sum(dim=[0])
torch.ones(2,3).sum(dim=None)
torch.ones(2,3).sum(5)
torch.ones(2,3).view(3,2)
torch.ones(2,3).view((3,2))
torch.ones(2,3).view([6])
torch.ones(2,3).view(-1)
torch.ones(2,3).view(4)
torch.ones(2,3).view()
torch.ones(2,3).view(2.5)
torch.ones(2,3).view(size=(6,))
torch.logaddexp(torch.tensor([torch.inf,-torch.inf,torch.inf,torch.nan,1.,-torch.inf]),torch.tensor([torch.inf,-torch.inf,-torch.inf,1.,torch.nan,2.]))
torch.logaddexp(torch.tensor([1000.,-1000.]),torch.tensor([999.,-1000.]))
torch.logaddexp(torch.tensor([torch.inf+0j,-torch.inf+1j,1+2j]),torch.tensor([torch.inf+0j,-torch.inf+0j,-torch.inf+0j]))
torch.logaddexp(torch.ones(2,dtype=torch.int64),torch.ones(2,dtype=torch.int64))
torch.mode(torch.tensor([3,1,2,1,2,3,2,1]))
torch.mode(torch.tensor([[3.,1.],[1.,1.],[3.,2.]]),0,True)
torch.mode(torch.tensor([torch.nan,torch.nan,1.,1.]))
torch.mode(torch.tensor(2.),keepdim=True)
torch.mode(torch.ones(2,0))
torch.mode(torch.ones(2,0),0)
torch.mode(torch.ones(2,3),5)
torch.mode(torch.ones(2,dtype=torch.complex64))
torch.arange(12.).view(3,4).view(torch.int32)
torch.arange(12.).view(3,4).view(dtype=torch.int16)
torch.arange(12.).view(3,4)[1:].view(torch.float64)
torch.arange(12.).view(3,4).t().view(torch.int32)
torch.arange(12.).view(3,4).t().view(torch.int16)
torch.arange(12.).view(3,4)[:,1:3].view(torch.float64)
torch.ones(2,requires_grad=True).view(torch.int32).requires_grad
torch.ones(2,3).permute(1,0)
torch.ones(2,3).permute((1,0))
torch.ones(2,3).permute(dims=(1,0))
torch.ones(1,3).expand(2,3)
torch.ones(1,3).expand(torch.Size([2,3]))
torch.zeros(2,3)
torch.zeros((2,3))
torch.zeros([2,3],dtype=torch.int32)
torch.zeros(2,3,dtype=float)
torch.zeros(size=(2,))
torch.zeros(2.5)
torch.zeros(torch.tensor(2),3)
torch.zeros(np.int64(2),3)
torch.zeros()
torch.zeros(-1)
torch.zeros(2,device='cpu')
torch.zeros(2,device='foo')
torch.zeros(2,device=torch.device('meta')).device
torch.zeros(2,layout=torch.strided)
torch.zeros(2,requires_grad=True).requires_grad
torch.zeros(2,pin_memory=False)
torch.zeros(2,dtype=5)
torch.full((2,),1)
torch.full((2,),1.5)
torch.full((2,),True)
torch.full((2,),torch.tensor(3))
torch.arange(5)
torch.arange(5.)
torch.arange(1,5)
torch.arange(1,5,2)
torch.arange(0,1,0.25)
torch.arange(end=5)
torch.arange(start=1,end=5)
torch.arange(5,dtype=torch.float32)
torch.eye(2)
torch.eye(2,3)
torch.ones(3)[0]
torch.matmul(torch.ones(2,3),torch.ones(2,3))
torch.ones(2,3)@torch.ones(3)
torch.ones(2,3)@2
2@torch.ones(2,3)
torch.device('cpu')
torch.device('cpu',0)
torch.device('cpu:1')
torch.device('cpu',index=1).index
torch.device('bogus')
torch.device(torch.device('cpu'))
torch.device('cpu')==torch.device('cpu')
torch.device('cpu')=='cpu'
str(torch.device('cpu:0'))
torch.float32
torch.float32.is_floating_point
torch.float32.itemsize
torch.complex64.to_real()
torch.int8.is_signed
torch.finfo(torch.float32)
torch.finfo(torch.float16).max
torch.finfo(torch.bfloat16)
torch.finfo(torch.float64)
torch.finfo(torch.int32)
torch.finfo()
torch.iinfo(torch.int32)
torch.iinfo(torch.uint8).max
torch.iinfo(torch.int64).min
torch.iinfo(torch.float32)
torch.channels_last
torch.strided
torch.promote_types(torch.int8,torch.uint8)
torch.result_type(torch.ones(2,dtype=torch.int32),1.5)
torch.can_cast(torch.float32,torch.int32)
torch.get_default_dtype()
torch.Tensor(2,3).shape
torch.Tensor([1,2])
torch.Tensor()
torch.Tensor(torch.ones(2))
torch.Tensor('a')
hash(torch.float32)==hash(torch.float32)
isinstance(hash(torch.ones(2)),int)
torch.ones(2) in [1]
x=torch.ones(2) ;; del x[0] ;; x
x=torch.ones(2) ;; x.__class__.__name__
torch.ones(2,2).untyped_storage().nbytes()
repr(torch.ones(2).untyped_storage())
torch.ones(99).untyped_storage().__sizeof__()-torch.ones(9).untyped_storage().__sizeof__()
torch.ones(99).storage().__sizeof__()-torch.ones(9).storage().__sizeof__()
torch.ones(2).is_set_to(torch.ones(2))
repr(torch.ones(2,requires_grad=True).exp().grad_fn).split(' at ')[0]
i=torch.tensor([2]) ;; torch.arange(9)[i:i+3]
i=torch.tensor([[2]],dtype=torch.uint8) ;; torch.arange(9)[::i]
i=torch.tensor([2]) ;; x=torch.arange(9) ;; x[i:i+2]=0 ;; x
torch.arange(9)[torch.tensor([1,2]):]
torch.arange(9)[torch.tensor(1.):]
torch.arange(9)[np.array([2]):]
torch.arange(9)[1.5:]
torch.ones(2)['a']
torch.tensor(type('Table',(),{'__len__':lambda s:2,'__getitem__':lambda s,i:{}[i]})())
torch.ones(2)[['a']]
torch.einsum('ii',torch.eye(3))
torch.einsum('iij',torch.ones(2,2,3))
torch.einsum('ii,ij',torch.eye(3),torch.ones(3,2))
torch.einsum('...ii',torch.ones(2,3,3))
torch.empty(0).set_(torch.arange(4.).untyped_storage(),1,(2,),(2,))
torch.empty(0).set_(torch.arange(4.))
[i.item() for i in torch.ones(2)]
list(torch.ones(2,2).unbind())
torch.ones(4).split(2)
torch.ones(2,2).names
torch.relu(torch.ones(2))
torch.relu_(torch.ones(2)-2)
torch.nn.functional.linear(torch.ones(2,3),torch.ones(2,3))
torch.ones(2).requires_grad_(False).requires_grad
torch.ones(2).requires_grad_(1)
torch.ones(2).detach_()
(torch.ones(2,requires_grad=True)*2)[0:1].detach_()
torch.ones(2).retain_grad()
torch.ones(2,requires_grad=True).to(torch.float64).dtype
torch.ones(2).to('cpu')
torch.ones(2).to(torch.ones(2,dtype=torch.int32)).dtype
torch.ones(2).double().dtype
torch.ones(2).type()
torch.asarray([1,2])
torch.asarray(np.arange(3))
torch.asarray([1,2],copy=False)
torch.asarray(torch.ones(2),dtype=torch.int32)
torch.frombuffer(bytearray(b'abcd'),dtype=torch.uint8)
torch.frombuffer(bytearray(8),dtype=torch.float32,offset=4)
torch.frombuffer(bytearray(7),dtype=torch.float32)
torch.frombuffer(bytearray(8),dtype=torch.int16,count=2)
torch.frombuffer(bytearray(8),dtype=torch.int16,count=5)
torch.frombuffer([1],dtype=torch.int16)
torch.ones(2,dtype=torch.float64).new_tensor([1,2])
torch.ones(2).new_tensor(3,dtype=torch.int32)
torch.empty(2,3).resize_(4).shape
torch.arange(6.).resize_(2,2)
torch.arange(6.).resize_((3,))
torch.ones(2,requires_grad=True).resize_(3)
torch.ones(6).resize_as_(torch.ones(2,3)).shape
torch.numel(torch.ones(2,3))
torch.is_floating_point(torch.ones(2))
torch.is_complex(torch.ones(2))
torch.numel(3)
torch.ones(1).is_nonzero()
torch.ones(2).is_nonzero()
torch.ones(2).is_same_size(torch.ones(2))
torch.ones(2).resolve_conj()
torch.add(torch.ones(2,3),torch.ones(2,3),out=torch.empty(0)).shape
torch.add(torch.ones(2),1,out=torch.empty(2,dtype=torch.int32))
torch.add(torch.ones(2),1,out=[torch.empty(2)])
torch.max(torch.arange(6.).reshape(2,3),1)
torch.max(torch.arange(6.).reshape(2,3),dim=1,keepdim=True)
torch.max(torch.arange(6.).reshape(2,3),1).values
type(torch.max(torch.ones(2,3),1)).__name__
torch.max(torch.ones(2,3),1,out=(torch.empty(0),torch.empty(0,dtype=torch.long)))[0]
torch.max(torch.ones(2,3),1,out=torch.empty(0))
torch.sort(torch.tensor([3,1,2]))
torch.sort(torch.tensor([3,1,2]),descending=True).indices
torch.cat([torch.ones(2),torch.zeros(1)])
torch.cat((torch.ones(2),1))
torch.cat(torch.ones(2))
torch.cat([])
torch.cat([torch.ones(2),torch.ones(2)],axis=0)
torch.stack([torch.ones(2),torch.ones(2)],1)
torch.softmax(torch.ones(2,3),dim=1)
torch.softmax(torch.ones(2,3),1,dtype=torch.float64)
torch.nn.functional.relu(torch.tensor([-1.,2]))
torch.nn.functional.dropout(torch.ones(3),0.)
torch.nn.functional.max_pool2d(torch.arange(16.).reshape(1,1,4,4),2)
torch.nn.functional.conv2d(torch.ones(1,1,3,3),torch.ones(1,1,2,2),padding=1,stride=(2,2)).shape
torch.nn.functional.conv2d(torch.ones(1,1,3,3),torch.ones(1,1,2,2),padding='same').shape
torch.nn.functional.conv2d(torch.ones(1,1,3,3),torch.ones(1,2,2,2))
torch.nn.functional.cross_entropy(torch.zeros(2,3),torch.tensor([0,1]))
torch.nn.functional.cross_entropy(torch.zeros(2,3),torch.tensor([0,5]))
torch.where(torch.tensor([True,False]),1,torch.zeros(2))
torch.clamp(torch.arange(4.),1,2)
torch.clamp(torch.arange(4.),min=1)
torch.arange(4.).clamp_(max=2)
torch.clamp(torch.arange(4.))
torch.gather(torch.arange(4.).reshape(2,2),1,torch.tensor([[0],[1]]))
torch.zeros(2,2).scatter_(1,torch.tensor([[0],[1]]),1.0)
torch.zeros(2,2).scatter(1,torch.tensor([[0],[1]]),torch.ones(2,1))
torch.zeros(2,2).fill_(3)
torch.zeros(2,2).fill_(torch.tensor(3))
torch.nonzero(torch.tensor([1,0,2]))
torch.ones(3).mean()
torch.ones(3,dtype=torch.int64).mean()
torch.ones(2,3).mean(0)
torch.ones(2,3).std()
torch.ones(2,3).var(1,unbiased=False)
torch.ones(2,3).argmax(1)
torch.ones(2,3).any()
torch.ones(2,3).all(1)
torch.ones(2,3).prod()
torch.ones(2,3).cumsum(1)
torch.ones(2,3).transpose(0,1).shape
torch.ones(2,3).unsqueeze(0).shape
torch.ones(2,1,3).squeeze(1).shape
torch.ones(2,1,3).squeeze().shape
torch.ones(4).chunk(2)
torch.ones(2,3).flatten()
torch.ones(2,3).reshape(3,-1).shape
torch.ones(2,3).repeat(2,1).shape
torch.randint(0,5,(3,)).shape
torch.randint(5,(3,)).dtype
torch.manual_seed(0);; torch.rand(2)
torch.manual_seed(0);; torch.randn(2,2)
torch.randperm(4).shape
torch.empty(2,3,dtype=torch.float64).dtype
torch.full_like(torch.ones(2),2)
torch.ones_like(torch.ones(2,dtype=torch.int32))
torch.linspace(0,1,5)
torch.tril(torch.ones(3,3))
x=torch.ones(2,requires_grad=True) ;; x.sum().backward() ;; x.grad
x=torch.ones(2,requires_grad=True) ;; (x*2).backward()
x=torch.ones(2,requires_grad=True) ;; y=x.sum() ;; y.backward() ;; y.backward()
x=torch.ones(2,requires_grad=True) ;; y=x.exp() ;; y.add_(1) ;; y.sum().backward()
a=torch.tensor([7.,-7.,0.,-0.,np.inf,-np.inf,np.nan,1e30,5.])[:,None] ;; torch.fmod(a,torch.tensor([3.,-3.,np.inf,0.,np.nan]))
a=torch.tensor([7.,-7.,0.,-0.,np.inf,-np.inf,np.nan,1e30,5.])[:,None] ;; torch.remainder(a,torch.tensor([3.,-3.,np.inf,0.,np.nan]))
a=torch.tensor([7.,-7.,0.,-0.,np.inf,-np.inf,np.nan,1e30,5.])[:,None] ;; torch.floor_divide(a,torch.tensor([3.,-3.,np.inf,0.,np.nan]))
a=torch.arange(-40,40,dtype=torch.float64)/8 ;; [torch.fmod(a,0.375),torch.remainder(a,-0.375),torch.floor_divide(a,0.125)]
torch.nextafter(torch.tensor([0.,-0.,1.,-1.,np.inf,np.nan]),torch.tensor([1.,-1.,2.,0.,0.,1.]))
torch.nan_to_num(torch.tensor([np.nan,np.inf,-np.inf,2.]*5),nan=1,posinf=3)
torch.round(torch.logit(torch.tensor([-1.,0.,0.3,1.,2.,np.nan]))*1e4), torch.round(torch.logit(torch.tensor([-1.,0.,0.3,1.,2.]),0.1)*1e4)
torch.round(torch.erfinv(torch.tensor([-1.,-0.999999,-0.5,0.,0.9999,1.,1.5,np.nan],dtype=torch.float64))*1e10)
torch.round(torch.special.ndtri(torch.tensor([0.,1e-300,1e-9,0.3,0.5,0.999,1.,-1.],dtype=torch.float64))*1e10)
torch.round(torch.special.i1e(torch.tensor([-20.,-3.,0.,3.,20.,np.inf],dtype=torch.float64))*1e10)
torch.round(torch.special.modified_bessel_k1(torch.tensor([-1.,0.,0.5,2.,5.,800.],dtype=torch.float64))*1e10)
torch.round(torch.special.airy_ai(torch.tensor([-5.,-1.9,-1.,0.,1.9,2.1,6.],dtype=torch.float64))*1e10)
a=torch.arange(5000.) ;; b=a.clone() ;; b[4999]=0 ;; [torch.equal(a,b),torch.equal(a,a.clone()),torch.equal(a,-a)]
torch.full((70,),3,dtype=torch.int16).flip(0), torch.arange(70,dtype=torch.int64).flip(0), torch.arange(70,dtype=torch.uint8).flip(0)
torch.repeat_interleave(torch.tensor([[1,2],[3,4]]),torch.tensor([0,3]),0)
torch.zeros(2,3).index_add(1,torch.tensor([2,0,2]),torch.arange(6.).view(2,3))
torch.zeros(2,3).index_add(1,torch.tensor([2,3,2]),torch.ones(2,3))
torch.arange(6).view(2,3).index_select(1,torch.tensor([2,2,-1]))
torch.gather(torch.arange(6.).view(3,2),0,torch.tensor([[0,2],[1,1]]))
torch.gather(torch.arange(6.).view(3,2),0,torch.tensor([[0,3],[1,1]]))
torch.ones(2,3,4).index_reduce(1,torch.tensor([0,2,0]),torch.arange(24.).view(2,3,4),'prod')
torch.nonzero(torch.tensor([[0,1],[2,0],[0,0]])), torch.nonzero(torch.tensor(3)), torch.nonzero(torch.ones(0,2))
torch.histogram(torch.tensor([0.,0.1,0.5,1.,np.nan,2.]),bins=4,range=(0.,1.))
torch.histogram(torch.tensor([0.,1.,2.,9.]),torch.tensor([0.,1.5,4.]),weight=torch.tensor([1.,2.,3.,4.]))
torch.histc(torch.tensor([0.,0.1,0.5,1.,2.]),4,0,1)
torch.round(torch.nn.functional.softmax(torch.arange(3000.).view(3,1000)/500,0)*1e4)[:,::100], torch.round(torch.nn.functional.log_softmax(torch.arange(12.).view(2,3,2),1)*1e4)
torch.nn.functional.max_pool2d(torch.full((1,1,4,4),-np.inf),2,return_indices=True)
torch.nn.functional.max_pool1d(torch.tensor([[1.,np.nan,3.,2.]]),2,1)
torch.round(torch.nn.functional.grid_sample(torch.arange(12.).view(1,1,3,4),torch.tensor([[[[-1.,-1.],[0.1,0.2],[2.,0.],[np.nan,0.]]]]),padding_mode='reflection',align_corners=True)*1e3)
torch.round(torch.nn.functional.grid_sample(torch.arange(12.).view(1,1,3,4),torch.tensor([[[[-1.2,0.],[0.1,0.2]]]]),mode='nearest',align_corners=False)*1e3)
torch.nn.functional.pdist(torch.tensor([[0.,0.],[3.,4.],[0.,1.]])), torch.nn.functional.pdist(torch.tensor([[0.,0.],[3.,4.],[0.,1.]]),np.inf)
torch.nn.functional.pad(torch.arange(4.).view(2,2),(1,-1),value=7)
torch.tril_indices(3,4,1), torch.triu_indices(3,2,-1,dtype=torch.int32)
x=torch.tensor([[3.,1.,2.],[5.,5.,4.]],requires_grad=True) ;; x.median(1).values.sum().backward() ;; x.grad
x=torch.tensor([3.,1.,3.,1.],requires_grad=True) ;; x.median().backward() ;; x.grad
x=torch.arange(4.,requires_grad=True) ;; torch.nn.functional.pad(x[None],(2,-1)).sum().backward() ;; x.grad
torch.stft(torch.ones(16, dtype=torch.float16), 4, return_complex=True)
torch.stft(torch.ones(16, dtype=torch.bfloat16), 4, return_complex=True)
int(torch.ones(2))
float(torch.ones(2))
complex(torch.ones(2))
int(torch.ones(0))
torch.zeros(2).copy_(3), torch.zeros(2).copy_(True), torch.zeros(2,dtype=torch.int64).copy_(2.5)
torch.zeros(2).copy_('a')
torch.isclose(torch.tensor([True,False]),torch.tensor([True,True])), torch.allclose(torch.tensor([True]),torch.tensor([True]))
torch.isclose(torch.tensor([True,False]),torch.tensor([True,True]),rtol=0,atol=1)
torch.isclose(torch.tensor([True]),torch.tensor([1]))
torch.empty(0).argmax()
torch.empty(0).argmin()
torch.empty(0,2).argmax(0)
torch.tensor(2**63)
torch.tensor(-2**63-1)
torch.tensor([2**63,1.]), torch.tensor(2**63,dtype=torch.float32)
torch.bincount(torch.ones(2))
torch.bincount(torch.tensor([True]))
torch.bincount(torch.ones(2,2,dtype=torch.int64))
torch.tensor([2])**-1
torch.tensor([2]).pow(-1)
torch.tensor([2]).pow_(-1)
torch.tensor([True])**-1
torch.tensor([2],dtype=torch.uint8)**-2
torch.tensor([2])**torch.tensor(-1), torch.tensor([2])**-1., torch.tensor([2.])**-1, 2**torch.tensor([-1])
p=torch.nn.Parameter(torch.ones(2,2)) ;; p.grad=torch.ones(2,2) ;; torch.optim.Muon([p],lr=torch.tensor([.02])).step() ;; torch.round(p.detach()*100)
p=torch.ones(2,requires_grad=True) ;; torch.optim.LBFGS([p],lr=torch.tensor([.02])).step(lambda: [setattr(p,'grad',2*p.detach()),(p*p).sum()][1]) ;; torch.round(p.detach()*1e3)
torch.empty(1,2,torch.tensor([2]),torch.tensor([[3]])).shape
torch.zeros([torch.tensor([2]),3]).shape
torch.ones(4,6).reshape(torch.tensor([2]),12)
torch.ones(4,6).view(12,torch.tensor([[2]]))
torch.ones(4,6).repeat(torch.tensor([2]),1)
torch.ones(4,6).permute(torch.tensor([1]),0)
torch.ones(4,6).roll(torch.tensor([1]))
torch.zeros([2,torch.tensor([1,2])])
torch.zeros([torch.tensor([2.])])
torch.ones(4,6).transpose(torch.tensor([1]),0)
torch.FloatTensor(torch.Size([2,3])).shape
torch.LongTensor(torch.ones(4,2).shape).shape
torch.FloatTensor(torch.Size([])).shape
torch.FloatTensor((2,3))
torch.FloatTensor(torch.ones(2))
x=torch.ones(2) ;; torch.FloatTensor(x).add_(1) ;; x
torch.FloatTensor(torch.ones(2).double())
x=torch.ones(2,requires_grad=True) ;; x.sum().backward() ;; x._grad
x=torch.ones(2) ;; x._grad=torch.zeros(2) ;; x.grad
torch._assert_async(torch.tensor(1)), torch._assert_async(torch.tensor([[2.]]),'text')
torch._assert_async(torch.tensor(0),'text')
torch._assert_async(torch.tensor([1,2]))
torch.arange(12.).reshape(3,4).t().tril(), torch.arange(24.).reshape(2,3,4).permute(2,0,1).triu(1)
torch.arange(12.).reshape(3,4).t().cumsum(0), torch.arange(24).reshape(2,3,4).permute(2,0,1).cumsum(1)
torch.arange(12.).reshape(3,4).t().cumprod(0), torch.arange(12.).reshape(3,4).t().logcumsumexp(0).shape
torch.tensor([True,False])**True, torch.tensor([True,False])**False, torch.tensor([True,False]).pow_(True)
torch.tensor([True,False])**torch.tensor([True,False])
True**torch.tensor([True,False])
torch.add(torch.ones(2),0,1), torch.add(torch.ones(2),3,torch.ones(2)), torch.sub(torch.ones(2),3,2)
torch.ones(2).add(3,2), torch.ones(2).add_(-.5,torch.ones(2)), torch.ones(2).sub_(2,torch.ones(2))
torch.ones(2).addcmul_(.5,torch.ones(2),torch.full((2,),3.)), torch.addcdiv(torch.ones(2),2,torch.ones(2),torch.full((2,),4.))
torch.addmm(2,torch.ones(2,2),3,torch.ones(2,2),torch.ones(2,2)), torch.addmm(2,torch.ones(2,2),torch.ones(2,2),torch.ones(2,2))
torch.ones(2,2).addmm_(2,3,torch.ones(2,2),torch.ones(2,2)), torch.ones(2).addmv(2,torch.ones(2,2),torch.ones(2))
torch.add(torch.ones(2),torch.ones(2),torch.ones(2))
torch.add(torch.ones(2),1,2,3)
torch.addmm(torch.ones(2,2),3,torch.ones(2,2),torch.ones(2,2),beta=2)
x=torch.ones(1,1,4,4,requires_grad=True) ;; g,=torch.autograd.grad(torch.nn.functional.max_pool2d(x,2).sum(),x,create_graph=True) ;; g, g.requires_grad, torch.autograd.grad(g.sum(),x)
x=torch.ones(1,1,4,4,requires_grad=True) ;; g,=torch.autograd.grad(torch.nn.functional.avg_pool2d(x,2).sum(),x,create_graph=True) ;; g, g.requires_grad, torch.autograd.grad(g.sum(),x)
x=torch.ones(1,1,4,4,requires_grad=True) ;; g,=torch.autograd.grad(torch.nn.functional.adaptive_avg_pool2d(x,2).sum(),x,create_graph=True) ;; g, g.requires_grad, torch.autograd.grad(g.sum(),x)
x=torch.ones(1,1,4,4,requires_grad=True) ;; g,=torch.autograd.grad(torch.nn.functional.adaptive_max_pool2d(x,2).sum(),x,create_graph=True) ;; g, g.requires_grad, torch.autograd.grad(g.sum(),x)
x=torch.ones(1,4,requires_grad=True) ;; g,=torch.autograd.grad(torch.nn.functional.avg_pool1d(x,2).sum(),x) ;; g, g.requires_grad
torch.nn.functional.interpolate(torch.arange(24.).reshape(1,2,3,4).contiguous(memory_format=torch.channels_last),size=(2,5))
"""

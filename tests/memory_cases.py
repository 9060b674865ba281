"""Calls about memory, to compare as those of ``call_cases``: sizes that no memory holds, elements that
share it, indices outside, who counts which version.
"""

MEMORY_CALLS = """
torch.empty(2**62, 4)
torch.empty(2**62, 4, 0)
torch.ones(3).repeat(2**62, 2)
torch.full((2**62, 2), 1.)
torch.arange(0, 1e30)
torch.ones(3).view(2**62, 4, -1)
torch.cat([torch.ones(1).expand(2**62)] * 2)
torch.stack([torch.ones(1).expand(2**61)] * 8)
torch.zeros(4).as_strided((2, 2), (4, 4))
torch.zeros(4).as_strided((2**40,), (2**40,))
torch.zeros(4).as_strided((2,), (1,), -1)
torch.zeros(4).as_strided((2,), (1,), 2**62)
torch.zeros(4).as_strided((2**32, 2**32), (0, 0)).shape
x = torch.ones([1] * 65) ;; ((x + 1).shape, x.permute(*range(64, -1, -1)).dim(), x.unsqueeze(0).dim())
x = torch.ones([1] * 65) ;; x.clone().sub(2).view(-1)
x = torch.ones([2] + [1] * 70) ;; (x.squeeze(), x.transpose(0, 70).shape)
x = torch.ones([2] + [1] * 70) ;; x.expand([2] * 3 + [1] * 68).reshape(-1)
x = torch.zeros([2] * 64 + [0]) ;; (x.numel(), (x + 1).shape, x.clone().dim())
torch.ones([1] * 65).amax(dim=0)
torch.ones([1] * 65).sum()
torch.ones([1] * 65).flip(0)
torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 1), padding=2**63 - 1)
torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), padding=2**61)
torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), dilation=2**62)
torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), stride=2**62)
torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 0))
torch.nn.functional.max_pool2d(torch.ones(1, 1, 3, 3), 2, dilation=2**62)
x = torch.arange(5.) ;; x[1:].add_(x[:-1])
x = torch.arange(5.) ;; x[1:].copy_(x[:-1])
x = torch.arange(5.) ;; x[1:] = x[:-1] ;; x
x = torch.arange(6.).view(2, 3) ;; x.t().copy_(x.view(3, 2))
x = torch.arange(9.).view(3, 3) ;; x.copy_(x.t())
x = torch.arange(9.).view(3, 3) ;; torch.add(x, 1, out=x.t())
x = torch.arange(9.) ;; x.index_add_(0, torch.tensor([0, 1]), x[1:3])
x = torch.arange(9.) ;; x.scatter_(0, torch.tensor([0, 1]), x[3:5])
x = torch.arange(1., 5.) ;; x.mul_(x[1]) ;; x
x = torch.zeros(3).expand(3, 3) ;; x.add_(1)
x = torch.zeros(1).expand(3) ;; x.fill_(2) ;; x
x = torch.zeros(1).expand(3) ;; x.zero_() ;; x
x = torch.zeros(1).expand(3) ;; x[0] = 2 ;; x
x = torch.zeros(1).expand(3) ;; x.copy_(torch.arange(3.))
x = torch.zeros(1).expand(3) ;; x.scatter_(0, torch.tensor([0]), 1.)
x = torch.zeros(1).expand(3) ;; x.index_add_(0, torch.tensor([0]), torch.ones(1))
x = torch.zeros(1).expand(3) ;; x.masked_fill_(torch.tensor([True, False, True]), 1.)
x = torch.zeros(1).expand(3) ;; x.index_put_((torch.tensor([0]),), torch.ones(1)) ;; x
x = torch.zeros(1).expand(3) ;; torch.exp(torch.ones(3), out=x)
a = torch.ones(1) ;; torch.add(a, torch.ones(3), out=a)
a = torch.ones(3, 1) ;; torch.add(torch.ones(2), a, out=a)
torch.gather(torch.ones(3), 0, torch.tensor([-1]))
torch.ones(3).scatter(0, torch.tensor([-1]), torch.ones(1))
torch.ones(3).scatter(0, torch.tensor([-1]), 5.)
torch.ones(3).scatter_add(0, torch.tensor([-1]), torch.ones(1))
torch.ones(3).index_select(0, torch.tensor([-1]))
torch.ones(3).index_add(0, torch.tensor([-1]), torch.ones(1))
torch.take_along_dim(torch.arange(3.), torch.tensor([-1]), 0)
torch.take_along_dim(torch.arange(6.).view(2, 3), torch.tensor([-1]))
x = torch.zeros(3) ;; d = x.detach() ;; d.add_(1) ;; (x._version, d._version)
x = torch.zeros(3) ;; d = x.data ;; d.add_(1) ;; (x._version, d._version)
x = torch.zeros(3) ;; x.add_(1) ;; y = torch.ones(3) ;; x.data = y ;; y.add_(1) ;; (x._version, y._version)
x = torch.ones(3, requires_grad=True) ;; y = x.exp() ;; y.data.add_(1) ;; y.sum().backward() ;; x.grad
x = torch.ones(3, requires_grad=True) ;; y = x.exp() ;; y.detach().add_(1) ;; y.sum().backward() ;; x.grad
x = torch.zeros(4) ;; a = x.numpy() ;; x.untyped_storage().resize_(1 << 20)
x = torch.zeros(4) ;; x.set_(torch.zeros(2, dtype=torch.float64))
x = torch.zeros(4) ;; x.set_(torch.zeros(2, device='meta'))
x = torch.zeros(4) ;; x.data = torch.zeros(4, device='meta') ;; x
"""

"""Calls on sparse tensors to compare under PyTorch and under us; `gives` compares elements and layout.

S: COO, sorted but not coalesced; U: COO with a place named twice; C: CSR; H: COO with a dense dimension;
D: dense, of the same size as S; M: dense, for products.
"""

SETUP = """
i = torch.tensor([[0, 1, 1], [2, 0, 2]])
S = torch.sparse_coo_tensor(i, torch.tensor([3., -4., .5]), (2, 3))
U = torch.sparse_coo_tensor(torch.tensor([[1, 0, 1], [0, 2, 0]]), torch.tensor([.25, .5, -.75]), (2, 3))
H = torch.sparse_coo_tensor(i, torch.arange(6.).reshape(3, 2) - 2, (2, 3, 2))
D = torch.arange(6.).reshape(2, 3) - 1
C = D.to_sparse_csr()
M = torch.arange(12.).reshape(3, 4) - 5
Z = torch.sparse_coo_tensor(size=(2, 3))
"""

CALLS = """
-U
abs(U)
S.sqrt().isnan()
U.sin()
U.tanh()
U.relu()
C.sin()
C.neg()
torch.sign(U)
torch.isnan(U)
U.clone().neg_()
U.coalesce().sin_()
C.clone().abs_()
S.deg2rad()
torch.nan_to_num(S)
S + S
S + U
U - S
S.add(U, alpha=2)
S + Z
Z + S
D + U
D - U
D.clone().add_(U)
D.clone().add_(U, alpha=-2)
D.t().contiguous().t() + U
D.t().contiguous().t().add_(U)
D.double() + U
D.int() + U
D.int().add_(U)
S + D
S + 1
1 + S
S + S.double()
S + H
H + H
C + C
C + D
D + C
C - D.t().contiguous().to_sparse_csr()
C + (D * 2 - 1).to_sparse_csr()
S.clone().add_(U)
S.clone().sub_(U)
S * U
S * H
H * H
S * D
D * S
S * D[0]
S * D[:, :1]
S * 2
2 * S
U * torch.tensor(3)
U * torch.tensor(3., dtype=torch.float64)
C * C
C * D
C * 3
C * (D * 2 - 1).to_sparse_csr()
S.clone().mul_(D)
D.clone().mul_(S)
S.clone().mul_(2)
S / 2
S / D
D / S
S // 2
torch.div(U, 2, rounding_mode='floor')
torch.div(U, .3, rounding_mode='trunc')
U ** 2
S ** 0
S ** D
U.square()
S.sum()
U.sum()
S.int().sum()
S.bool().any()
S.sum(0)
S.sum(1)
S.sum(-1, keepdim=True)
S.sum((0, 1))
H.sum(2)
H.sum((0, 2))
H.sum((0, 1))
C.sum()
C.sum(0)
C.sum(1, keepdim=True)
C.sum(0, keepdim=True)
torch.sparse.sum(S)
torch.sparse.sum(U, 0)
torch.sparse.sum(H, (0, 1))
torch.sparse.sum(H, 2)
torch.sparse.sum(S, 0, dtype=torch.float64)
S.norm()
U.norm()
S @ M
M.t() @ S.t()
C @ M
M.t() @ C.t()
S @ M[:, 0]
torch.mv(C, M[:, 1])
S @ S.t()
C @ C.t()
C @ C.t().to_sparse_csr()
torch.mm(U, M)
torch.mm(S, D)
torch.mm(S, M.double())
torch.mm(S.double(), M.double())
torch.mm(S.to(torch.complex64) * 1j, M.to(torch.complex64))
torch.mm(Z, M)
torch.addmm(torch.ones(2, 4), S, M)
torch.addmm(torch.ones(2, 4), S, M, beta=2, alpha=-1)
torch.addmm(torch.ones(4), C, M)
torch.sparse.mm(S, M)
torch.sparse.mm(M.t(), S.t())
torch.sparse.addmm(torch.ones(2, 4), S, M, beta=2, alpha=3)
torch.sparse.mm(C, M, 'sum')
torch.sparse.mm(C, M, 'mean')
torch.sparse.mm(C, M, 'amax')
torch.sparse.mm(C, M, 'amin')
torch.sparse.sampled_addmm(C, torch.ones(2, 2), D, beta=.5, alpha=2)
torch.sparse.sampled_addmm(S, torch.ones(2, 2), D)
torch.bmm(torch.stack([S, S]), torch.stack([M, M]))
torch.matmul(D.unsqueeze(0), S.t())
torch.nn.functional.linear(D, S)
torch.nn.functional.linear(D, C, torch.ones(2))
torch.smm(S, M)
torch.hspmm(S, M)
torch.sspaddmm(S @ S.t(), S, M[:, :2])
torch.sparse.softmax(U, 1)
torch.sparse.softmax(S, 0)
torch.sparse.softmax(H, 2)
torch.sparse.softmax(H, 0)
torch.sparse.log_softmax(S, 1)
torch.sparse.log_softmax(S, -1, dtype=torch.float64)
torch.sparse.softmax(Z, 0)
S.t()
S.T
H.transpose(0, 1)
H.transpose(0, 2)
H.permute(1, 0, 2)
S.permute(1, 0)
S.permute(0, 0)
C.t()
C.t().t()
S.unsqueeze(0)
H.unsqueeze(2)
H.unsqueeze(-1)
S[0]
S[1, 2]
S[-1]
S[5]
H[0]
H[..., 1]
C[1]
C.select(1, 2)
S.select(1, 2)
S.index_select(0, torch.tensor([1, 1, 0]))
S.index_select(1, torch.tensor([2, 0]))
H.index_select(2, torch.tensor([1]))
S.index_select(0, torch.tensor([7]))
torch.cat([S, U])
torch.cat([S, U], 1)
torch.cat([S, D])
torch.stack([S, U], 1)
list(S)
S.clone()
H.clone()
C.clone()
S.double()
C.long()
S.to(torch.float16)
S.to('cpu')
torch.zeros(2, 3, layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_csr, dtype=torch.float64)
torch.zeros_like(C, layout=torch.sparse_csr)
torch.zeros_like(D, layout=torch.sparse_coo)
torch.empty(2, 3, layout=torch.sparse_coo)
torch.zeros_like(S)
torch.zeros_like(C)
torch.empty_like(H)._nnz()
S.clone().zero_()
S.clone().copy_(U)
D.clone().copy_(S)
S.clone().copy_(D)
S.coalesce()
U.coalesce()
U.coalesce().indices()
U.coalesce().values()
U.indices()
U.values()
U._values()
U._indices()
C.crow_indices()
C.col_indices()
C.values()
C.t().ccol_indices()
C.t().row_indices()
C.indices()
S.crow_indices()
D.values()
D.coalesce()
D.is_coalesced()
S._nnz()
H.sparse_dim(), H.dense_dim(), S.sparse_dim(), C.sparse_dim(), C.dense_dim()
D.sparse_dim(), D.dense_dim()
S.is_sparse, S.is_sparse_csr, C.is_sparse, C.is_sparse_csr, D.is_sparse
str(S.layout), str(C.layout), str(C.t().layout), str(D.layout)
str(S.device), S.is_cpu, S.is_meta, S.get_device()
S.dtype, S.shape, S.numel(), S.stride(), S.storage_offset(), S.is_contiguous(), S.is_leaf
S.is_coalesced(), U.is_coalesced(), U.coalesce().is_coalesced(), Z.is_coalesced()
S.type()
C.stride()
S.to_dense()
H.to_dense()
C.to_dense()
C.t().to_dense()
Z.to_dense()
D.to_dense() is D
D.to_sparse()
D.to_sparse(1)
D.to_sparse(0)
D.to_sparse(3)
torch.tensor(3.).to_sparse()
torch.tensor([True, False]).to_sparse()
D.to_sparse_csr()
D.to_sparse_csc()
M.t().contiguous().to_sparse_bsr((2, 3))
M.t().contiguous().to_sparse_bsc((2, 1))
M.to_sparse_bsr((2, 2))
M.t().contiguous().to_sparse_bsr((2, 3)).to_sparse()
M.t().contiguous().to_sparse_bsr((2, 3)).t().to_dense()
torch.stack([D, D + 9]).abs().add(1).to_sparse_csr()
torch.stack([D, D + 9]).abs().add(1).to_sparse_csr().to_dense()
torch.stack([D, D]).to_sparse_csr(dense_dim=1).to_dense()
torch.stack([D, D + 1]).to_sparse_csr()
D.to_sparse(layout=torch.sparse_csc)
D.to_sparse(layout=torch.strided)
D.to_sparse(blocksize=(1, 1))
U.to_sparse_csr()
U.to_sparse_csc()
C.to_sparse_csc()
C.to_sparse()
C.to_sparse_csr() is C
C.to_sparse_bsr((1, 3))
C.t().to_sparse()
C.t().to_sparse_csr()
D.sparse_mask(U)
D.sparse_mask(C)
S.sparse_mask(U.coalesce())
D.sparse_mask(D)
M.sparse_mask(S)
S.item()
torch.sparse_coo_tensor([[0]], [2.5]).item()
S.tolist()
S.numpy()
S.untyped_storage()
S.data_ptr()
S.nbytes
S.contiguous()
S.view(-1)
S.reshape(6)
S.expand(2, 2, 3)
S.squeeze()
S[:, 1:]
S.exp()
S.cos()
S == S
S > 0
torch.equal(S, S)
S.max()
S.mean()
torch.where(S, S, S)
S.fill_(1)
S.resize_(3, 3)
S.normal_()
torch.softmax(S, 0)
torch.dot(D[0], S[0])
S.clone().sparse_resize_((4, 5), 2, 0)
S.clone().sparse_resize_((1, 1), 2, 0)
S.clone().sparse_resize_and_clear_((1, 1), 2, 0)
S._coalesced_(True).is_coalesced()
Z.clone().sparse_resize_((4, 5, 2), 2, 1)
S.__setitem__((0, 0), 1)
torch.sparse_coo_tensor([[0, 1], [1, 2]], [1., 2.])
torch.sparse_coo_tensor([[0, 1], [1, 2]], [1, 2], dtype=torch.float64)
torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 3))
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor(size=(2, 3), dtype=torch.int64)
torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3,), requires_grad=True).requires_grad
torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3,), is_coalesced=True).is_coalesced()
torch.sparse_coo_tensor([[1, 0]], [1., 2.], (3,), is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor([[0, 1], [1, 2]], [1., 2.], (3,))
torch.sparse_coo_tensor([[0, 1], [1, 2]], [1., 2., 3.])
torch.sparse_coo_tensor([[0, -1]], [1., 2.])
torch.sparse_coo_tensor([[0, 5]], [1., 2.], (3,), check_invariants=True)
torch.sparse_coo_tensor([0, 1], [1., 2.])
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1., 2.])
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1., 2.], (2, 5), dtype=torch.float64)
torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1., 2.])
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1., 2.]], [[3., 4.]]])
torch.sparse_bsc_tensor([0, 1, 2], [0, 1], [[[1., 2.]], [[3., 4.]]])
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1., 2.], layout=torch.sparse_csr)
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1., 2.], layout=torch.sparse_coo)
torch.sparse_csr_tensor([0, 1], [5], [1.], (1, 2), check_invariants=True)
torch.sparse_csr_tensor([1, 1], [0], [1.], (1, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 2], [0], [1.], (1, 2), check_invariants=True)
torch.sparse.spdiags(torch.arange(1., 7.).reshape(2, 3), torch.tensor([0, 1]), (3, 3))
torch.sparse.spdiags(torch.arange(1., 7.).reshape(2, 3), torch.tensor([-1, 2]), (4, 3), torch.sparse_csr)
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 1]), (3, 3))
torch.sparse.check_sparse_tensor_invariants.is_enabled()
torch.nn.Parameter(S).requires_grad
torch.sparse.FloatTensor(i, torch.tensor([1., 2., 3.]), torch.Size([2, 3]))
torch.sparse.DoubleTensor(2, 3)
isinstance(S, torch.sparse.FloatTensor), isinstance(D, torch.sparse.FloatTensor)
isinstance(S, torch.FloatTensor), isinstance(D, torch.FloatTensor)
S.type(torch.sparse.DoubleTensor)
""".strip().splitlines()

# What must read as PyTorch writes it.
PRINTED = """
S
U.coalesce()
H
C
C.t()
Z
D.double().to_sparse()
(C * 2).double()
M.t().contiguous().to_sparse_bsr((2, 3))
torch.stack([D, D]).to_sparse_csr()
torch.zeros(2, 3).to_sparse_csr()
S.clone().requires_grad_()
S.clone().requires_grad_() * 2
torch.nn.Parameter(S)
torch.tensor([[0, 70], [80, 9]]).to_sparse()
torch.sparse_coo_tensor(torch.arange(2000).reshape(1, -1), torch.arange(2000.), (4000,))
torch.tensor([1 + 2j, 0]).to_sparse()
""".strip().splitlines()

# A function of leaves whose results are summed; each leaf's gradient is compared with its layout.
GRADIENTS = """
S.to_dense() * D ;; S
S.to_dense(masked_grad=False) * D ;; S
U.to_dense() * D ;; U
C.to_dense() * D ;; C
U.coalesce() ;; U
U.coalesce().values() * torch.tensor([2., 3.]) ;; U
C.values() * torch.arange(5.) ;; C
torch.sparse_coo_tensor(i, V, (2, 3)).to_dense() * D ;; V
torch.sparse_coo_tensor(i * 0, V, (2, 3)).to_dense() * (D + 5) ;; V
torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2]), V, (2, 3)).to_dense() * D ;; V
D.to_sparse().to_dense() * D.detach() ;; D
D.to_sparse(1) ;; D
D.to_sparse_csr() ;; D
S.to_sparse_csr() ;; S
C.to_sparse() ;; C
C.to_sparse_csc() ;; C
D.sparse_mask(U.coalesce().detach()) * 3 ;; D
torch.sparse.mm(S, M) ;; S M
torch.sparse.mm(C, M) ;; C M
torch.sparse.mm(U, M) ;; U M
torch.sparse.mm(M.t(), S.t()) ;; S M
torch.mm(S, M) ;; S M
S @ M ;; S M
C @ M ;; C M
M.t() @ S.t() ;; S M
torch.mv(S, M[:, 0]) ;; S M
torch.mm(S, S.t()) ;; S
torch.sparse.addmm(B, S, M, beta=2, alpha=3) ;; B S M
torch.addmm(B, S, M, beta=2, alpha=3) ;; B S M
torch.sparse.sampled_addmm(C, B, E, beta=.5, alpha=2) ;; C B E
torch.sparse.mm(C, M, 'mean') ;; C M
torch.sparse.mm(C, M, 'amax') ;; C M
torch.bmm(S.unsqueeze(0).detach(), M.unsqueeze(0)) ;; M
S * S.detach() ;; S
S * D ;; S D
S * 2 ;; S
C * 2 ;; C
S / 2 ;; S
S + S ;; S
S - U ;; S U
D + S ;; D S
C + C.detach() ;; C
-S ;; S
S.abs() ;; S
S.log1p() ;; S
C.log1p() ;; C
S.relu() ;; S
S ** 2 ;; S
S.sum() ;; S
C.sum() ;; C
torch.sparse.sum(S) ;; S
torch.sparse.sum(U) ;; U
torch.sparse.sum(S, 0) ;; S
torch.sparse.sum(H, 2) ;; H
torch.sparse.sum(H, (0, 1)) ;; H
torch.sparse.softmax(S, 1).to_dense() * D ;; S D
torch.sparse.log_softmax(S, 1).to_dense() * D ;; S D
S.t().to_dense() * M[:, :2] ;; S
S.clone() ;; S
S.double() ;; S
torch.nn.functional.embedding(torch.tensor([2, 0, 2]), M, sparse=True) * 2 ;; M
torch.nn.functional.embedding(torch.tensor([2, 0, 2]), M, padding_idx=0, sparse=True) ;; M
torch.nn.functional.embedding_bag(torch.tensor([[2, 0], [1, 1]]), M, mode='sum', sparse=True) ;; M
torch.gather(M, 1, torch.tensor([[0, 3], [1, 1]]), sparse_grad=True) ;; M
torch.embedding(M, i[0], sparse=True).sum() + M.sum() ;; M
torch.embedding(M, i[0], sparse=True).sum() * 2 + torch.embedding(M, i[1], sparse=True).sum() ;; M
""".strip().splitlines()

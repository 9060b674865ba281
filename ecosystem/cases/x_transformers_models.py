"""x-transformers: decoders, encoders and pairs with its variants of attention."""

import torch
from checks import check, train
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, XTransformer

torch.set_num_threads(1)
ids = torch.arange(24).reshape(2, 12) % 31

VARIANTS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "t5 bias": {"rel_pos_bias": True},
    "rmsnorm and swiglu": {"use_rmsnorm": True, "ff_swish": True, "ff_glu": True},
    "grouped heads": {"attn_kv_heads": 2},
    "query-key norm": {"attn_qk_norm": True},
    "sandwich": {"sandwich_norm": True},
}

for name, options in VARIANTS.items():
    with check(f"decoder, {name}: two steps") as c:
        torch.manual_seed(0)
        layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
        model = AutoregressiveWrapper(
            TransformerWrapper(num_tokens=31, max_seq_len=32, attn_layers=layers)
        ).double()
        c.values = train(torch, model, lambda m: m(ids), steps=2)
        c.tolerance = 1e-6

with check("encoder with a mask") as c:
    torch.manual_seed(0)
    model = TransformerWrapper(
        num_tokens=31, max_seq_len=32, attn_layers=Encoder(dim=32, depth=2, heads=4)
    ).double()
    c.values = model(ids, mask=ids > 3)
    c.tolerance = 1e-7

with check("generate") as c:
    torch.manual_seed(0)
    model = AutoregressiveWrapper(
        TransformerWrapper(num_tokens=31, max_seq_len=32, attn_layers=Decoder(dim=32, depth=1, heads=2))
    )
    c.values = model.generate(ids[:, :4], 8, temperature=0.0)

with check("encoder and decoder") as c:
    torch.manual_seed(0)
    model = XTransformer(
        dim=32,
        enc_num_tokens=31,
        enc_depth=1,
        enc_heads=2,
        enc_max_seq_len=16,
        dec_num_tokens=31,
        dec_depth=1,
        dec_heads=2,
        dec_max_seq_len=16,
    ).double()
    c.values = train(torch, model, lambda m: m(ids, ids), steps=2)
    c.tolerance = 1e-6

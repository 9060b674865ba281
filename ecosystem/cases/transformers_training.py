"""transformers: a small Llama trained on characters, caches and attentions, half precision, a pipeline."""

import argparse
import tempfile
from pathlib import Path

import tokenizers
import torch
import transformers as hf
from checks import check

torch.set_num_threads(1)
TEXT = Path(argparse.__file__).read_text()[:20000]
CHARACTERS = sorted(set(TEXT))
IDS = torch.tensor([CHARACTERS.index(c) for c in TEXT])


def made(**options):
    torch.manual_seed(0)
    config = hf.LlamaConfig(
        vocab_size=len(CHARACTERS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
        **options,
    )
    return hf.LlamaForCausalLM(config)


def batch(step):
    starts = torch.arange(4) * 900 + step * 32
    return torch.stack([IDS[start : start + 32] for start in starts])


def trained(model, steps=30, autocast=False):
    """The losses of some steps of AdamW, each of two batches, with a warm-up."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = hf.get_cosine_schedule_with_warmup(optimizer, 5, steps)
    losses = []
    for step in range(steps):
        for part in range(2):
            ids = batch(2 * step + part)
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                loss = model(input_ids=ids, labels=ids).loss / 2
            loss.backward()
            losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return losses


with check("thirty steps in double") as c:
    c.values = trained(made().double())
    c.tolerance = 1e-6  # the loss itself is formed in float32

with check("thirty steps under autocast to bfloat16") as c:
    c.values = trained(made(), autocast=True)
    c.tolerance = 2e-2

with check("gradient checkpointing") as c:
    model = made().double().train()
    model.gradient_checkpointing_enable()
    c.values = trained(model, steps=3)
    c.tolerance = 1e-6

for attention in ("eager", "sdpa"):
    with check(f"caches, {attention}") as c:
        model = made(attn_implementation=attention).double().eval()
        prompt = IDS[:12].view(2, 6)
        common = {"max_new_tokens": 12, "do_sample": False}
        c.values = [
            model.generate(prompt, **common, cache_implementation="static"),
            model.generate(prompt, **common, cache_implementation="dynamic"),
            model.generate(prompt, **common, use_cache=False),
        ]

with check("weights in bfloat16") as c, tempfile.TemporaryDirectory() as folder:
    made().save_pretrained(folder)
    model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        c.values = [str(model.dtype), model(IDS[:16].view(1, -1)).logits]
    c.tolerance = 2e-2

with check("a pipeline") as c:
    words = {character: i for i, character in enumerate(CHARACTERS)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token=" "))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="\n", unk_token=" ")
    generate = hf.pipeline("text-generation", model=made().double(), tokenizer=tokenizer, device="cpu")
    c.values = generate("import", max_new_tokens=8, do_sample=False)

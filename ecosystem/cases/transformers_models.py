"""transformers: tiny random models: forward, gradients, generation, saving and loading, Trainer."""

import tempfile

import torch
import transformers as hf
from checks import check, train

torch.set_num_threads(1)
transformer = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
special = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}

ENCODERS = {
    "BERT": (hf.BertForSequenceClassification, hf.BertConfig(vocab_size=99, **transformer)),
    "ViT": (hf.ViTForImageClassification, hf.ViTConfig(image_size=32, patch_size=8, **transformer)),
}
DECODERS = {
    "GPT-2": (
        hf.GPT2LMHeadModel,
        hf.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, **special),
    ),
    "Llama": (
        hf.LlamaForCausalLM,
        hf.LlamaConfig(vocab_size=99, num_key_value_heads=2, **transformer, **special),
    ),
    "Qwen2": (
        hf.Qwen2ForCausalLM,
        hf.Qwen2Config(vocab_size=99, num_key_value_heads=2, **transformer, **special),
    ),
}
small = {"d_model": 32, "decoder_layers": 2, "encoder_layers": 2, "decoder_attention_heads": 4}
PAIRS = {
    "T5": (
        hf.T5ForConditionalGeneration,
        hf.T5Config(
            vocab_size=99, d_model=32, d_ff=64, d_kv=8, num_layers=2, num_heads=4, decoder_start_token_id=0
        ),
    ),
    "Whisper": (
        hf.WhisperForConditionalGeneration,
        hf.WhisperConfig(
            vocab_size=99,
            encoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            num_mel_bins=8,
            max_source_positions=16,
            max_target_positions=32,
            decoder_start_token_id=1,
            begin_suppress_tokens=None,
            suppress_tokens=None,
            **small,
            **special,
        ),
    ),
}


def made(kind, config):
    torch.manual_seed(0)
    return kind(config)


def tokens(rows, columns):
    return torch.arange(3, 3 + rows * columns).reshape(rows, columns) % 96 + 3


for name, (kind, config) in (ENCODERS | DECODERS).items():
    with check(f"{name}: three steps") as c:
        model = made(kind, config).double().train()
        given = {"input_ids": tokens(2, 12), "labels": tokens(2, 12)}
        if name in ENCODERS:
            given["labels"] = torch.tensor([0, 1])
        if name == "ViT":
            given = {
                "pixel_values": torch.randn(2, 3, 32, 32, dtype=torch.float64),
                "labels": given["labels"],
            }
        c.values = train(torch, model, lambda m, given=given: m(**given).loss)
        c.tolerance = 3e-7  # the models form their loss in float32

for name, (kind, config) in DECODERS.items():
    with check(f"{name}: generate") as c:
        model = made(kind, config).eval()
        prompt = tokens(1, 4)
        torch.manual_seed(5)
        c.values = [
            model.generate(prompt, max_new_tokens=8, do_sample=False),
            model.generate(prompt, max_new_tokens=8, do_sample=True, top_k=20),
            model.generate(prompt, max_new_tokens=6, num_beams=3),
        ]

for name, (kind, config) in PAIRS.items():
    with check(f"{name}: forward, gradient, generate") as c:
        model = made(kind, config).double().eval()
        given = (
            {"input_ids": tokens(2, 6)}
            if name == "T5"
            else {"input_features": torch.randn(2, 8, 32).double()}
        )
        out = model(**given, labels=tokens(2, 5))
        out.loss.backward()
        norm = sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None)
        c.values = [out.loss, norm, model.generate(**given, max_new_tokens=5, do_sample=False)]
        c.tolerance = 1e-7

with check("save_pretrained, from_pretrained") as c:
    model = made(*DECODERS["GPT-2"]).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = hf.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        before, after = model(tokens(1, 5)).logits, again(tokens(1, 5)).logits
    c.values = [bool((before == after).all()), after.double()]
    c.tolerance = 1e-4

with check("Trainer: twenty steps") as c:
    model = made(*DECODERS["Llama"])
    data = [{"input_ids": row, "labels": row} for row in tokens(32, 8)]
    with tempfile.TemporaryDirectory() as folder:
        options = hf.TrainingArguments(
            folder,
            max_steps=20,
            per_device_train_batch_size=4,
            learning_rate=1e-3,
            logging_steps=1,
            seed=0,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = hf.Trainer(model, options, train_dataset=data)
        trainer.train()
    c.values = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    c.tolerance = 1e-3

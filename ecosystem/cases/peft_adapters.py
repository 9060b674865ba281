"""peft: LoRA, IA3, prompt and prefix tuning on a tiny model: trained, saved, loaded, merged."""

import tempfile

import torch
import transformers as hf
from checks import check, train
from peft import (
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
)

torch.set_num_threads(1)
CONFIG = hf.LlamaConfig(
    vocab_size=99,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    pad_token_id=0,
)
IDS = torch.arange(3, 27).reshape(2, 12)


def base():
    torch.manual_seed(0)
    return hf.LlamaForCausalLM(CONFIG).double()


with check("LoRA: three steps, merged") as c:
    torch.manual_seed(0)
    model = get_peft_model(
        base(), LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, lora_dropout=0.1)
    )
    losses = train(torch, model, lambda m: m(input_ids=IDS, labels=IDS).loss)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(base(), folder)
        loaded = again.eval()(input_ids=IDS, labels=IDS).loss
    merged = model.eval().merge_and_unload()(input_ids=IDS, labels=IDS).loss
    c.values = [losses, loaded, merged, model.get_nb_trainable_parameters()]
    c.tolerance = 1e-6

with check("IA3") as c:
    torch.manual_seed(0)
    model = get_peft_model(base(), IA3Config(task_type=TaskType.CAUSAL_LM))
    c.values = train(torch, model, lambda m: m(input_ids=IDS, labels=IDS).loss)
    c.tolerance = 1e-6

with check("prompt tuning") as c:
    torch.manual_seed(0)
    model = get_peft_model(base(), PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4))
    c.values = train(torch, model, lambda m: m(input_ids=IDS, labels=IDS).loss)
    c.tolerance = 1e-6

with check("prefix tuning: three steps, generated tokens") as c:
    torch.manual_seed(0)
    settings = PrefixTuningConfig(
        task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4, prefix_projection=True, encoder_hidden_size=8
    )
    model = get_peft_model(base(), settings).double()
    losses = train(torch, model, lambda m: m(input_ids=IDS, labels=IDS).loss)
    generated = model.eval().generate(input_ids=IDS, max_new_tokens=4, do_sample=False)
    c.values = [losses, generated.tolist()]
    c.tolerance = 1e-6

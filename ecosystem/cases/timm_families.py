"""timm: a small model of each of thirty families: created, one training step, features."""

import timm
import torch
from checks import check, train

torch.set_num_threads(1)

NAMES = """
    resnet10t resnext26ts efficientnet_b0 mobilenetv3_small_050 regnetx_002 convnext_atto
    vit_tiny_patch16_224 deit_tiny_patch16_224 swin_tiny_patch4_window7_224 mixer_s32_224 gmlp_ti16_224
    resmlp_12_224 pit_ti_224 levit_128s poolformer_s12 edgenext_xx_small efficientformer_l1
    mobilevit_xxs coat_lite_tiny crossvit_tiny_240 cait_xxs24_224 densenet121 dla34 ghostnet_050
    hardcorenas_a hrnet_w18_small mnasnet_small nf_regnet_b0 repvgg_a0 rexnet_100 selecsls42
    semnasnet_075 tinynet_e vgg11 xcit_nano_12_p16_224 fastvit_t8 focalnet_tiny_srf
    maxvit_rmlp_pico_rw_256
"""

for name in NAMES.split():
    with check(name) as c:
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=4).double()
        size = model.default_cfg["input_size"][-1]
        x, y = torch.randn(2, 3, size, size, dtype=torch.float64), torch.tensor([1, 3])
        c.values = train(
            torch, model, lambda m, x=x, y=y: torch.nn.functional.cross_entropy(m(x), y), steps=2
        )
        c.tolerance = 1e-6

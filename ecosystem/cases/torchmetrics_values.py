"""torchmetrics: metrics of every domain updated over batches."""

import torch
import torchmetrics as tm
from checks import check

torch.manual_seed(0)
N = 48
scores, labels = torch.rand(N, 4).softmax(-1), torch.arange(N) % 4
binary, truth = torch.rand(N), torch.arange(N) % 2
x, y = torch.randn(N).double(), torch.randn(N).double()
images = torch.rand(2, 3, 32, 32)
multi = {"task": "multiclass", "num_classes": 4}

CASES = {
    "Accuracy": (tm.Accuracy(**multi), scores, labels),
    "F1Score": (tm.F1Score(**multi, average="macro"), scores, labels),
    "ConfusionMatrix": (tm.ConfusionMatrix(**multi), scores, labels),
    "AUROC": (tm.AUROC(task="binary"), binary, truth),
    "AveragePrecision": (tm.AveragePrecision(**multi), scores, labels),
    "CalibrationError": (tm.CalibrationError(task="binary"), binary, truth),
    "CohenKappa": (tm.CohenKappa(**multi), scores, labels),
    "ROC": (tm.ROC(task="binary", thresholds=5), binary, truth),
    "MeanSquaredError": (tm.MeanSquaredError(), x, y),
    "R2Score": (tm.R2Score(), x, y),
    "PearsonCorrCoef": (tm.PearsonCorrCoef(), x, y),
    "SpearmanCorrCoef": (tm.SpearmanCorrCoef(), x, y),
    "KendallRankCorrCoef": (tm.KendallRankCorrCoef(), x, y),
    "CosineSimilarity": (tm.CosineSimilarity(), x.reshape(8, 6), y.reshape(8, 6)),
    "PeakSignalNoiseRatio": (tm.image.PeakSignalNoiseRatio(data_range=1.0), images, images.flip(0)),
    "SSIM": (tm.image.StructuralSimilarityIndexMeasure(data_range=1.0), images, images.flip(0)),
    "RetrievalMAP": (None, binary, truth),
    "MeanMetric": (tm.MeanMetric(), x, None),
}

for name, (metric, got, want) in CASES.items():
    with check(name) as c:
        if name == "RetrievalMAP":
            c.values = tm.retrieval.RetrievalMAP()(got, want, indexes=torch.arange(N) // 8)
        elif want is None:
            metric.update(got)
            c.values = metric.compute()
        else:
            half = len(got) // 2
            metric.update(got[:half], want[:half])
            metric.update(got[half:], want[half:])
            c.values = metric.compute()
        c.tolerance = 1e-5

with check("a collection, cloned and reset") as c:
    both = tm.MetricCollection([tm.Accuracy(**multi), tm.Precision(**multi)])
    first = both(scores, labels)
    copy = both.clone(prefix="val_")
    both.reset()
    copy.update(scores, labels)
    c.values = [first, copy.compute(), sorted(copy.state_dict())]
    c.tolerance = 1e-5

with check("text") as c:
    c.values = [
        tm.text.CharErrorRate()(["hallo welt"], ["hello world"]),
        tm.text.WordErrorRate()(["a b c"], ["a b d"]),
    ]
    c.tolerance = 1e-6

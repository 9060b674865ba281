"""torchmetrics: some metrics of each of its families, through batches, and its wrappers."""

import torch
import torchmetrics as tm
from checks import check
from torchmetrics import (
    audio,
    classification,
    clustering,
    detection,
    image,
    nominal,
    regression,
    retrieval,
    segmentation,
    shape,
    text,
    wrappers,
)
from torchmetrics.functional import pairwise

torch.set_num_threads(1)
torch.manual_seed(0)
N = 48
scores, labels = torch.rand(N, 4).softmax(-1), torch.arange(N) % 4
many, truths = torch.rand(N, 5), (torch.arange(N * 5).reshape(N, 5) % 3 == 0).long()
x = torch.randn(N, dtype=torch.float64)
y = (x + 0.5 * torch.randn(N, dtype=torch.float64)).abs() + 0.1
first, second = torch.rand(2, 3, 192, 192), torch.rand(2, 3, 192, 192)
sound, noise = torch.randn(2, 2, 400), torch.randn(2, 2, 400)
groups = (torch.arange(N) // 3 % 4, torch.arange(N) % 4)
points = torch.randn(N, 3)
hits, asked = torch.rand(N), {"indexes": torch.arange(N) // 8}
relevant = torch.arange(N) % 3 == 0
masks = torch.randint(0, 2, (2, 3, 16, 16)), torch.randint(0, 2, (2, 3, 16, 16))
boxes = [{"boxes": torch.tensor([[10.0, 10, 30, 30], [5, 5, 9, 9]]), "labels": torch.tensor([0, 1])}]
found = [{**boxes[0], "boxes": boxes[0]["boxes"] + 1.5, "scores": torch.tensor([0.9, 0.4])}]
heard = ["the cat sat on a mat", "hello word"], [["the cat sat on the mat"], ["hello world"]]
logits, tokens = torch.randn(2, 6, 9), torch.arange(12).reshape(2, 6) % 9
multi = {"num_classes": 4}
several = {"num_labels": 5}

CASES = {
    "audio": [
        (audio.SignalNoiseRatio(), sound, noise),
        (audio.ScaleInvariantSignalDistortionRatio(), sound, noise),
        (audio.SourceAggregatedSignalDistortionRatio(), sound, noise),
        (audio.SignalDistortionRatio(filter_length=32), sound, noise),
    ],
    "classification, several classes": [
        (classification.MulticlassMatthewsCorrCoef(**multi), scores, labels),
        (classification.MulticlassHammingDistance(**multi), scores, labels),
        (classification.MulticlassHingeLoss(**multi), scores, labels),
        (classification.MulticlassJaccardIndex(**multi), scores, labels),
        (classification.MulticlassExactMatch(**multi), scores[:, :, None], labels[:, None]),
        (classification.MulticlassPrecisionRecallCurve(**multi, thresholds=5), scores, labels),
        (classification.MulticlassSpecificityAtSensitivity(4, 0.5, thresholds=9), scores, labels),
        (classification.MulticlassStatScores(**multi, average=None), scores, labels),
    ],
    "classification, several labels": [
        (classification.MultilabelAUROC(**several), many, truths),
        (classification.MultilabelCoverageError(**several), many, truths),
        (classification.MultilabelRankingLoss(**several), many, truths),
        (classification.MultilabelRankingAveragePrecision(**several), many, truths),
        (classification.MultilabelFBetaScore(2.0, **several), many, truths),
        (classification.BinaryFairness(2), many[:, 0], truths[:, 0], groups[0] % 2),
    ],
    "clustering": [
        (clustering.AdjustedRandScore(), *groups),
        (clustering.NormalizedMutualInfoScore(), *groups),
        (clustering.FowlkesMallowsIndex(), *groups),
        (clustering.VMeasureScore(), *groups),
        (clustering.CalinskiHarabaszScore(), points, groups[0]),
        (clustering.DaviesBouldinScore(), points, groups[0]),
        (clustering.DunnIndex(), points, groups[0]),
    ],
    "detection": [
        (detection.IntersectionOverUnion(), found, boxes),
        (detection.GeneralizedIntersectionOverUnion(), found, boxes),
        (
            detection.PanopticQuality(things={0, 1}, stuffs={2}),
            *[torch.arange(32).reshape(1, 4, 4, 2) % 2] * 2,
        ),
    ],
    "image": [
        (image.MultiScaleStructuralSimilarityIndexMeasure(data_range=1.0), first, second),
        (image.UniversalImageQualityIndex(), first, second),
        (image.SpectralAngleMapper(), first, second),
        (image.ErrorRelativeGlobalDimensionlessSynthesis(), first, second),
        (image.RelativeAverageSpectralError(), first, second),
        (image.SpatialCorrelationCoefficient(), first, second),
        (image.VisualInformationFidelity(), first, second),
        (image.TotalVariation(), first),
    ],
    "nominal": [
        (nominal.CramersV(4), *groups),
        (nominal.TschuprowsT(4), *groups),
        (nominal.TheilsU(4), *groups),
        (nominal.PearsonsContingencyCoefficient(4), *groups),
    ],
    "regression": [
        (regression.ConcordanceCorrCoef(), x, y),
        (regression.ExplainedVariance(), x, y),
        (regression.LogCoshError(), x, y),
        (regression.MeanAbsolutePercentageError(), x, y),
        (regression.MeanSquaredLogError(), y, y.flip(0)),
        (regression.MinkowskiDistance(3), x, y),
        (regression.RelativeSquaredError(), x, y),
        (regression.TweedieDevianceScore(1.5), y, y.flip(0)),
        (regression.KLDivergence(), scores.double(), scores.flip(0).double()),
        (regression.CriticalSuccessIndex(0.5), x, y),
    ],
    "retrieval": [
        (retrieval.RetrievalNormalizedDCG(), hits, relevant, asked),
        (retrieval.RetrievalMRR(), hits, relevant, asked),
        (retrieval.RetrievalPrecision(top_k=3), hits, relevant, asked),
        (retrieval.RetrievalFallOut(), hits, relevant, asked),
        (retrieval.RetrievalAUROC(), hits, relevant, asked),
    ],
    "segmentation": [
        (segmentation.MeanIoU(3), *masks),
        (segmentation.GeneralizedDiceScore(3), *masks),
        (segmentation.DiceScore(3), *masks),
        (segmentation.HausdorffDistance(3), *masks),
    ],
    "shape": [(shape.ProcrustesDisparity(), points.reshape(4, 12, 3), points.flip(0).reshape(4, 12, 3))],
    "text": [
        (text.BLEUScore(), *heard),
        (text.CHRFScore(), *heard),
        (text.TranslationEditRate(), *heard),
        (text.ExtendedEditDistance(), *heard),
        (text.EditDistance(), heard[0], [one[0] for one in heard[1]]),
        (text.MatchErrorRate(), heard[0], [one[0] for one in heard[1]]),
        (text.Perplexity(), logits, tokens),
    ],
}

for family, metrics in CASES.items():
    for metric, *given in metrics:
        with check(f"{family}: {type(metric).__name__}") as c:
            named = given.pop() if isinstance(given[-1], dict) else {}
            metric.update(*given, **named)
            metric.update(*given, **named)
            c.values = metric.compute()
            c.tolerance = 1e-4

with check("pairwise") as c:
    c.values = [
        pairwise.pairwise_cosine_similarity(points, points[:5]),
        pairwise.pairwise_euclidean_distance(points, points[:5]),
        pairwise.pairwise_linear_similarity(points),
        pairwise.pairwise_manhattan_distance(points, points[:5]),
        pairwise.pairwise_minkowski_distance(points, points[:5], exponent=3),
    ]
    c.tolerance = 1e-4

with check("best order of sources") as c:
    metric = audio.PermutationInvariantTraining(
        tm.functional.audio.scale_invariant_signal_noise_ratio, eval_func="max"
    )
    c.values = metric(sound, sound.flip(1) + 0.1 * noise)
    c.tolerance = 1e-3

with check("wrappers") as c:
    torch.manual_seed(1)
    error = regression.MeanSquaredError
    wrapped = {
        "bootstrap": wrappers.BootStrapper(error(), num_bootstraps=4),
        "min and max": wrappers.MinMaxMetric(error()),
        "running": wrappers.Running(error(), window=2),
        "several outputs": wrappers.MultioutputWrapper(error(), 3),
        "by class": wrappers.ClasswiseWrapper(classification.MulticlassAccuracy(**multi, average=None)),
    }
    results = []
    for name, metric in wrapped.items():
        pair = {"several outputs": (points, points.flip(0)), "by class": (scores, labels)}.get(name, (x, y))
        results += [metric(*pair), metric(*pair), metric.compute()]
    c.values = results
    c.tolerance = 1e-4

with check("a tracker over epochs") as c:
    tracker = wrappers.MetricTracker(
        tm.MetricCollection([tm.MeanMetric(), tm.MaxMetric()]), maximize=[True, True]
    )
    for value in (1.0, 3.0, 2.0):
        tracker.increment()
        tracker.update(value)
    c.values = [tracker.compute_all(), tracker.best_metric(return_step=True)]

with check("arithmetic of metrics") as c:
    both = tm.MeanMetric() + 2 * tm.SumMetric()
    both.update(x)
    c.values = [both.compute(), abs(both).compute()]
    c.tolerance = 1e-5

"""What was observed to a report, the same for every way in."""

from advisor.analysis.figures import figures_of
from advisor.analysis.loading import Loaded, Progress, Source, ignore_progress, load_source
from advisor.analysis.options import Options
from advisor.diagnosis.case import Case
from advisor.diagnosis.engine import Diagnosis, diagnose, verdict_index
from advisor.knowledge.recognise import Choice
from advisor.model.advice import Advice, Prediction
from advisor.model.report import EpisodeReport, ProfileUsed, Report, SourceInfo
from advisor.model.text import format_value
from advisor.recommend.advise import advise, with_patches
from advisor.recommend.predictions import predict

__all__ = ["analyse", "report_of"]


def analyse(source: Source, options: Options, progress: Progress = ignore_progress) -> Report:
    """One analysis of a source of samples.

    Raises:
        InputError: the source cannot be read.
        NothingToAnalyseError: it has fewer than two scrapes of any operator series.
    """
    return report_of(load_source(source, progress), options)


def report_of(loaded: Loaded, options: Options) -> Report:
    """Diagnosis and advice on what was observed."""
    observed, whole = loaded.observed, loaded.info.window
    everything = observed.signals(whole)
    diagnoses = [
        diagnose(
            Case(
                signals=observed.signals(episode.window),
                whole=everything,
                episode=episode,
                scrapes=None if observed.scrapes is None else len(observed.scrapes),
                thresholds=options.thresholds,
            )
        )
        for episode in observed.episodes(options.cut_rules)
    ]
    chosen = verdict_index(diagnoses)
    verdict = diagnoses[chosen]
    advice, basis = advise(diagnoses, verdict, options.policy, loaded.args)
    advice, predictions = _foreseen(loaded, basis, advice, options)
    signals = verdict.case.signals
    figures, absent = figures_of(signals, options.policy)
    return Report(
        operator=loaded.operator,
        verdict=_sentence(verdict, loaded.info),
        source=loaded.info,
        findings=verdict.findings,
        advice=advice,
        predictions=predictions,
        figures=figures,
        missing=absent,
        episodes=tuple(
            EpisodeReport(
                episode=one.case.episode,
                findings=one.findings,
                lost_seconds=one.case.lost_seconds,
                is_verdict=index == chosen,
            )
            for index, one in enumerate(diagnoses)
        ),
        settings=signals.settings,
        keys=signals.keys,
        namespaces=signals.namespaces,
        timeline=loaded.timeline,
        profile=_used(observed.choice),
    )


def _used(choice: Choice) -> ProfileUsed:
    return ProfileUsed(name=choice.profile.name, title=choice.profile.title, why=choice.why)


def _foreseen(
    loaded: Loaded, basis: Diagnosis, advice: Advice, options: Options
) -> tuple[Advice, tuple[Prediction, ...]]:
    """Predictions by the twin where the load can be run again, in closed form elsewhere."""
    if loaded.observed.scrapes is not None and advice.changes_settings:
        # What was told has no load to run again, and answers sooner without all this.
        from random import Random  # noqa: PLC0415

        from advisor.analysis.points import point_in  # noqa: PLC0415
        from advisor.recommend.foresight import foresee  # noqa: PLC0415

        point = point_in(loaded.operator, loaded, basis.case.episode.window)
        seen = None if point is None else foresee(point, advice, options.policy, Random)
        if seen is not None:
            return with_patches(seen.advice, basis, loaded.args), seen.predictions
    return advice, predict(basis, advice)


def _sentence(verdict: Diagnosis, info: SourceInfo) -> str:
    """The verdict in one sentence, with the episode that it is for; told figures have no time of their own."""
    episode, whole = verdict.case.episode, info.window
    if info.kind == "facts":
        return f"{verdict.primary.title}."
    start, length = episode.window.start - whole.start, episode.window.seconds
    when = f"{episode.kind.value} episode, {format_value(start, 'seconds')} in, {format_value(length, 'seconds')} long"
    return f"{verdict.primary.title} ({when})."

package render

import (
	"fmt"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/traceprof"
)

// Result writes a result that needs no more than itself, as text or as a table.
func Result(o *Output, result any) error {
	switch r := result.(type) {
	case *query.RunsResult:
		return Runs(o, r)
	case *query.ProfilesResult:
		return Profiles(o, r)
	case *query.Detected:
		return Detected(o, r)
	case *query.OverviewResult:
		return Overview(o, r)
	case *query.HistoryResult:
		return History(o, r)
	case *query.TreeResult:
		return Tree(o, r)
	case *query.FunctionsResult:
		return Functions(o, r)
	case *query.FlameResult:
		return boxes(o, r.Rows, &r.Head)
	case *query.StackChartResult:
		return boxes(o, r.Rows, &r.Head)
	case *query.MarkersResult:
		return Markers(o, r)
	case *query.NodeResult:
		return Node(o, r)
	case *query.GrowthResult:
		return Growth(o, r)
	case *query.DiffResult:
		return Diff(o, r)
	case *query.DiffFunctionsResult:
		return DiffFunctions(o, r)
	case *query.DiffFlameResult:
		return DiffFlame(o, r)
	case *query.DiffChartResult:
		return DiffChart(o, r)
	case *query.DiffNodeResult:
		return DiffNode(o, r)
	case *query.FindResult:
		return Found(o, r)
	case *query.FindSumsResult:
		return FoundBy(o, r)
	case *query.LinesResult:
		return Lines(o, r)
	case *query.ScoresResult:
		return Scores(o, r)
	case *query.HotellingResult:
		return Hotelling(o, r)
	case *query.CorrelationsResult:
		return Correlation(o, r)
	case *tasks.CreatedTask:
		return CreatedTask(o, r)
	case *tasks.Task:
		return Task(o, r)
	case *query.List[tasks.Task]:
		return Tasks(o, r)
	case *tasks.TaskResult:
		return TaskDescription(o, r)
	case *query.List[traceprof.Log]:
		return TaskLog(o, r)
	case *tasks.TaskEvent:
		return TaskEvent(o, r)
	case *tasks.TaskSegmentsResult[tasks.TaskSegment]:
		return TaskSegments(o, r)
	case *tasks.TaskSegmentsResult[tasks.TaskSpan]:
		return TaskSpans(o, r)
	case *tasks.AnalysisResult:
		return Analysis(o, r)
	case *query.PruneResult:
		return Pruned(o, r)
	}
	panic(fmt.Sprintf("render: no text for %T", result))
}

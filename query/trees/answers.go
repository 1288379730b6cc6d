package trees

import (
	"github.com/dendroprof/dendro/query"
)

// TreeView returns the view that a TreeRequest names.
func TreeView(r *TreeRequest) query.View[TreeRequest] {
	switch {
	case r.comparesRuns(r.View):
		return query.ViewOf(Growth)
	case r.Select != "":
		return query.ViewOf(Node)
	}
	switch r.View {
	case viewFunctions:
		return query.ViewOf(Functions)
	case viewFlame:
		return query.ViewOf(Flame)
	case viewStackChart:
		return query.ViewOf(StackChart)
	case viewMarkers:
		return query.ViewOf(Markers)
	case viewLocks:
		return query.ViewOf(Locks)
	case viewActivity:
		return query.ViewOf(Activity)
	}
	return query.ViewOf(Tree)
}

// DiffView returns the view that a DiffRequest names.
func DiffView(r *DiffRequest) query.View[DiffRequest] {
	switch {
	case r.View == viewStackChart:
		return query.ViewOf(DiffChart)
	case r.View == viewBenchmarks:
		return query.ViewOf(DiffBenchmarks)
	case r.Against != "" && r.listsBand():
		return query.ViewOf(Band)
	case r.Net && r.Select != "":
		return query.ViewOf(NetNode)
	case r.Net && r.View == viewFunctions:
		return query.ViewOf(NetFunctions)
	case r.Net && r.View == viewFlame:
		return query.ViewOf(NetFlame)
	case r.Net:
		return query.ViewOf(NetTree)
	case r.Select != "":
		return query.ViewOf(DiffNode)
	case r.View == viewFunctions:
		return query.ViewOf(DiffFunctions)
	case r.View == viewFlame:
		return query.ViewOf(DiffFlame)
	}
	return query.ViewOf(Diff)
}

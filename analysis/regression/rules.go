package regression

// What several rules mean by one word. Other constants belong to one function.
const (
	nearlyAll = 0.7 // of a change: what its parts or one caller must hold
	mostOf    = 0.6 // of a change: its main part
	halfOf    = 0.5 // of a change: a part that explains or shows it
	littleOf  = 0.1 // of a change, or of the program: what hardly is there
	likeOf    = 0.3 // relative difference of two changes of a like size

	likely       = 2.0   // log likelihood ratio that decides between two explanations
	scoreOf95    = 1.645 // that chance exceeds in 5% if nothing changed
	leastSamples = 5     // per run, below which a row tells nothing; where they are expected, none is a chance of 1%
	nearFrames   = 6     // of two places on one path, or below one caller
)

// Rule is a decision beside the model of noise: what it decides and why, and the function that does.
type Rule struct{ Name, Why, Decides string }

// Rules are all of them, in the order in which a comparison applies them. `go run ./test/detection/bench
// -without NAME` shows what one is good for.
var Rules = []Rule{
	{"small counts", "the normal score of a row with few samples is too high", "scoreRow"},
	{"kind of row", "of rows that explain a change as well, functions rather than single paths", "value"},
	{"finest row", "a caller changes with what it calls: the change is inside", "down"},
	{"moved nearby", "a fall of the same size beside a rise: work has another name or place", "markMoved"},
	{"flat around", "a function that did not rise with a part of it: work moved inside", "insideFlatDomain"},
	{"within jitter", "a small new path below a caller that varies more: the caller's own samples", "attributed"},
	{"flat caller", "a caller that rose by less than what it calls: work moved inside", "chainIsFlat"},
	{"neighbour fell", "a neighbour fell by what a row rose: it gave its work", "neighbourOpposes"},
	{"wrapped calls", "calls that vanished are made by a new function between", "wrapped"},
	{"moved anywhere", "a fall of the same size anywhere cancels a rise", "markMoved"},
	{"lasts", "a change that not every tested run shows is a run's, not the code's", "lastsAt"},
	{"library carried", "compilers inline libraries differently: the user's function must show it", "carried"},
	{"own history", "what runs of unchanged code show is no change", "ownHistory"},
	{"caller and callee", "rises of a function and of its caller are one change", "related"},
	{"common caller", "rises near each other that their caller shows are one change", "common"},
	{"only caller", "a function that only calls a library is the place, not what it calls", "doesOnly"},
	{"new path", "the outermost of new functions is what somebody added", "moveUp"},
	{"widespread", "many changes without a main one have one cause: compiler, flags", "widespread"},
	{"metric alone", "samples that move to callees hide that their function became slower", "shownByMetric"},
	{"existing headline", "the code was changed where it calls a new function", "carrierOf"},
	{"one headline", "changes that one function carries are read together", "oneCarrier"},
	{"surer places", "an interval with 0 says less of the size than the places do", "measured"},
	{"bounded cost", "no place costs more than its function or the program", "limited"},
	{"net cost", "what vanished below a function is no cost of it", "net"},
	{"adds up", "costs and gains add up to the change of the program", "addUp"},
	{"slowdown", "everything, or the one hot function, became slower", "slowdown"},
	{"doubled", "a noisy history does not hide a program that takes twice the time", "slower"},
	{"code changed", "code that changed makes a slower program less of a chance", "codeChanged"},
	{"faster", "a program that is faster everywhere has no place", "faster"},
	{"detectable", "a change below what the runs detect is confirmed by the next run only", "limitToPower"},
}

// without reports whether a rule is left out.
func (o *Options) without(rule string) bool { return o.Without == rule }

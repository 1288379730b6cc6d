package regression

import "cmp"

// Options are the parameters of the default method. Zero fields mean the default.
type Options struct {
	Alpha    float64 // probability of a false finding; 0: 0.0025 for one tested run, 0.01 for more
	MinShare float64 // minimum impact as a share of the program; default 0.001
	Impact   float64 // c_min: minimum impact in standard deviations of a Poisson count of the program; default 0.75

	// Service is set if runs are profiles of a service's instances, which have so many
	// samples that their noise alone says which changes count: the other minimums have
	// far smaller defaults.
	Service bool

	// Own are the packages or source directories of the user's own code, which headlines
	// name; empty: package own decides.
	Own []string

	// Without names the one of Rules that is left out, to measure what the rule is good for.
	Without string

	types          int  // judged value types of the benchmark: they share the default of Alpha
	SkipOwnHistory bool // do not test the history's own runs
}

// minimums say which changes count.
type minimums struct {
	share, impact float64 // defaults of Options
	growth        float64 // relative, of the place itself
	jitter        float64 // relative deviation of a function, when sizes of runs are estimated
}

var (
	ofBenchmarks = minimums{share: 0.001, impact: 0.75, growth: 0.03, jitter: 0.05}
	// ofServices only keep rounding errors from being changes.
	ofServices = minimums{share: 1e-5, impact: 0.01, growth: 1e-4, jitter: 0.003}
)

// Other defaults of Options.
const (
	defaultAlphaOne  = 0.0025
	defaultAlphaMore = 0.01
)

// leastHistory is the minimum number of history runs for a verdict.
const leastHistory = 3

func (o *Options) least() minimums {
	if o.Service {
		return ofServices
	}
	return ofBenchmarks
}

func (o Options) withDefaults() Options {
	least := o.least()
	o.MinShare, o.Impact = cmp.Or(max(o.MinShare, 0), least.share), cmp.Or(max(o.Impact, 0), least.impact)
	return o
}

// alpha returns the error probability for k tested runs.
func (o *Options) alpha(k int) float64 {
	if o.Alpha > 0 {
		return o.Alpha
	}
	alpha := defaultAlphaMore
	if k == 1 {
		alpha = defaultAlphaOne
	}
	return alpha / float64(max(1, o.types))
}

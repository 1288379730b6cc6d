package regression

// Options are the parameters of the default method. Zero fields mean the default.
type Options struct {
	Alpha     float64 // probability of a false finding; 0: 0.0025 for one tested run, 0.01 for more
	MinShare  float64 // minimum impact as a share of the program; default 0.001
	Impact    float64 // c_min: minimum impact in standard deviations of a Poisson count of the program; default 0.75
	MinGrowth float64 // minimum relative growth of the place itself; default 0.03
	MaxShare  float64 // maximum share of the program of a place; default 0.9

	// Own are the packages or source directories of the user's own code, which headlines
	// name; empty: package own decides.
	Own []string

	types          int  // judged value types of the benchmark: they share the default of Alpha
	SkipOwnHistory bool // do not test the history's own runs
}

// Defaults of Options.
const (
	defaultAlphaOne  = 0.0025
	defaultAlphaMore = 0.01
	defaultMinShare  = 0.001
	defaultImpact    = 0.75
	defaultMinGrowth = 0.03
	defaultMaxShare  = 0.9
)

// leastHistory is the minimum number of history runs for a verdict.
const leastHistory = 3

func (o Options) withDefaults() Options {
	set := func(v *float64, d float64) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&o.MinShare, defaultMinShare)
	set(&o.Impact, defaultImpact)
	set(&o.MinGrowth, defaultMinGrowth)
	set(&o.MaxShare, defaultMaxShare)
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

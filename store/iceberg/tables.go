// Package iceberg writes profiles as Parquet tables that other programs read without
// Dendro.
//
//	store ──Write──▶ DIR/profiles/month=2026-11/part-0.parquet
//	                 DIR/path_samples/month=2026-11/part-0.parquet, …
//
// The ids of functions and paths are computed from their names, so they are the same in
// every export of every store. docs/lake.md documents the tables; the types here
// are their columns.
package iceberg

// profileRow is a row of table profiles, by (grp, benchmark, date, run) within a month.
type profileRow struct {
	Profile         string            `parquet:"profile"`
	Group           string            `parquet:"grp,dict"`
	Benchmark       string            `parquet:"benchmark,dict"`
	BaseName        string            `parquet:"base_name,dict"`
	Params          map[string]string `parquet:"params"`
	Run             string            `parquet:"run,dict"`
	Date            *int64            `parquet:"date,timestamp(microsecond)"`
	Commit          string            `parquet:"commit_id,dict"`
	Branch          string            `parquet:"branch,dict"`
	Repository      string            `parquet:"repository,dict"`
	Machine         string            `parquet:"machine,dict"`
	Attributes      map[string]string `parquet:"attributes"`
	Type            string            `parquet:"type,dict"`
	Default         bool              `parquet:"is_default"`
	Unit            string            `parquet:"unit,dict"`
	Scale           int32             `parquet:"scale"`
	Period          int64             `parquet:"period"`
	PeriodUnit      string            `parquet:"period_unit,dict"`
	PeriodName      string            `parquet:"period_name,dict"`
	Original        string            `parquet:"original_type,dict"`
	Metric          *string           `parquet:"metric,dict"`
	MetricMean      *float64          `parquet:"metric_mean"`
	MetricUnit      *string           `parquet:"metric_unit,dict"`
	MetricBetter    *string           `parquet:"metric_better,dict"`
	Profiler        string            `parquet:"profiler,dict"`
	ProfilerVersion string            `parquet:"version,dict"`
	Duration        int64             `parquet:"duration"`
	Samples         int64             `parquet:"samples"`
	Sum             int64             `parquet:"sum"`
	Nodes           int32             `parquet:"nodes"`
	Hash            string            `parquet:"hash"`
	File            string            `parquet:"file,dict"`
	Parts           []string          `parquet:"parts,list"`
	Seq             int64             `parquet:"seq"`
}

// functionRow is a row of table functions, by name.
type functionRow struct {
	Function   FunctionID `parquet:"function"`
	Name       string     `parquet:"name"`
	Kind       *string    `parquet:"kind,dict"` // NULL: unknown
	Module     string     `parquet:"module,dict"`
	File       string     `parquet:"file,dict"`
	StartLine  int32      `parquet:"start_line"`
	Column     int32      `parquet:"start_column"`
	Language   string     `parquet:"language,dict"`
	SystemName string     `parquet:"system_name"`
	RawName    string     `parquet:"raw_name"`
}

// pathRow is a row of table paths, parents before children. The writer takes an optional
// column with a dictionary for NULL by its pointer only.
type pathRow struct {
	Path      []byte     `parquet:"path"`
	Parent    *[]byte    `parquet:"parent,dict"` // NULL: the outermost frame
	Function  FunctionID `parquet:"function,dict"`
	Depth     int32      `parquet:"depth,dict"`
	Recursion *[]byte    `parquet:"recursion,dict"` // NULL: no ancestor has the function
	Distance  int32      `parquet:"distance,dict"`
}

// place is where functions and paths occur, in a lake: its tables have them once for
// each month of a benchmark, so that a query reads only those of the months and
// benchmarks that it is about.
type place struct {
	Group     string `parquet:"grp,dict"`
	Benchmark string `parquet:"benchmark,dict"`
	Date      *int64 `parquet:"date,timestamp(microsecond),dict"` // the month's first instant
}

type placedFunction struct {
	place
	functionRow
}

type placedPath struct {
	place
	pathRow
}

// functionSampleRow is a row of table function_samples, in the order of profiles. It
// repeats columns of the profile for filters that need no join.
type functionSampleRow struct {
	Profile   string     `parquet:"profile,dict"`
	Group     string     `parquet:"grp,dict"`
	Benchmark string     `parquet:"benchmark,dict"`
	Type      string     `parquet:"type,dict"`
	Date      *int64     `parquet:"date,timestamp(microsecond),dict"`
	Function  FunctionID `parquet:"function,dict"`
	Self      int64      `parquet:"self,dict"`
	Total     int64      `parquet:"total,dict"`
}

// pathSampleRow is a row of table path_samples, likewise.
type pathSampleRow struct {
	Profile   string `parquet:"profile,dict"`
	Group     string `parquet:"grp,dict"`
	Benchmark string `parquet:"benchmark,dict"`
	Type      string `parquet:"type,dict"`
	Date      *int64 `parquet:"date,timestamp(microsecond),dict"`
	Path      []byte `parquet:"path,dict"`
	Self      int64  `parquet:"self,dict"`
	Total     int64  `parquet:"total,dict"`

	Modes map[string]int64 `parquet:"modes"` // self values of compile modes
}

// metricRow is a row of table metrics, in the order of profiles.
type metricRow struct {
	Group     string    `parquet:"grp,dict"`
	Benchmark string    `parquet:"benchmark,dict"`
	Run       string    `parquet:"run,dict"`
	Date      *int64    `parquet:"date,timestamp(microsecond),dict"`
	Name      string    `parquet:"name,dict"`
	Unit      string    `parquet:"unit,dict"`
	Mean      float64   `parquet:"mean"`
	Better    string    `parquet:"better,dict"`
	N         int64     `parquet:"n"`
	Samples   []float64 `parquet:"samples,list"`
	Error     float64   `parquet:"error"`
	Primary   bool      `parquet:"is_primary"`
}

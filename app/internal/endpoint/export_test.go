package endpoint

// For tests of the answers of a server.
var (
	Full     = full
	Prepared = prepared
)

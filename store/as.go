package store

// Wrapper is a store that changes some answers of another one, and has its optional interfaces.
type Wrapper interface {
	// Unwrap returns the other store.
	Unwrap() Reader
}

// As returns a store as T, an interface that not every engine implements: Aggregator, Versioned,
// Accepter, VerdictKeeper, LinkKeeper, SQLSpeaker or CypherSpeaker of this package, or a contract of
// traceprof or continuous. A wrapper has what it wraps. Nobody asserts a store's type, so that
// no wrapper loses one: a test of internal/archtest demands both.
func As[T any](s any) (t T, ok bool) {
	for {
		if t, ok = s.(T); ok {
			return t, true
		}
		w, wraps := s.(Wrapper)
		if !wraps {
			return t, false
		}
		s = w.Unwrap()
	}
}

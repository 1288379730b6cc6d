package continuous

// ProgramSize returns the size that the steps of a pattern are counted with.
func ProgramSize(pattern string) int64 {
	n, _ := programSize(pattern)
	return n
}

package schema

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// frozen are the hashes of the steps.
var frozen = []string{
	"46e1bb358577f168762c7e2c9e0277de495c6c61dbef61e92ade9dbff6616276",
}

// TestFrozen fails if a step is edited: stores that ran it would keep other tables than new
// ones get.
func TestFrozen(t *testing.T) {
	if len(frozen) != len(Steps) {
		t.Fatalf("%d steps, %d hashes", len(Steps), len(frozen))
	}
	for i, step := range Steps {
		if hash := fmt.Sprintf("%x", sha256.Sum256([]byte(step))); hash != frozen[i] {
			t.Errorf("step %d has the hash %s, not %s: a released step is never edited; add another", i+1, hash, frozen[i])
		}
	}
}

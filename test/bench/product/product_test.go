package product

import (
	"testing"

	"github.com/dendroprof/dendro/test/bench/oracle"
)

// TestAnswers holds the product to the naive answers, as every baseline is.
func TestAnswers(t *testing.T) { oracle.Test(t, Spec(), Names()) }

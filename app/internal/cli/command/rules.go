package command

import (
	"os"

	"github.com/dendroprof/dendro/normalize"
)

// ReadRules returns the normaliser with the user's rules, if there are any.
func ReadRules(name string) (*normalize.Normalizer, error) {
	if name == "" {
		return normalize.New(nil), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rules, err := normalize.ReadRules(name, f)
	if err != nil {
		return nil, err
	}
	return normalize.New(rules), nil
}

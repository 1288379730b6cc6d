package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dendroprof/dendro/internal/words"
)

var unknownCommand = regexp.MustCompile(`^unknown command "(.*)" for "(.*)"`)

// suggested adds to the error of an unknown command those that were perhaps meant. An
// argument of a command without arguments has the same error.
func suggested(root *cobra.Command, err error) error {
	m := unknownCommand.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	parent, _, findErr := root.Find(strings.Fields(m[2])[1:])
	if findErr != nil {
		return err
	}
	if !parent.HasSubCommands() {
		return fmt.Errorf("%s takes no arguments, got %q (see \"%s --help\")", strings.TrimPrefix(m[2], "dendro "), m[1], m[2])
	}
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("%w%s", err, words.DidYouMean(m[1], names))
}

var unknownFlag = regexp.MustCompile(`^unknown flag: (--[^ ]+)$`)

// suggestFlag adds to the error of an unknown flag those that were perhaps meant.
func suggestFlag(c *cobra.Command, err error) error {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, words.DidYouMean(m[1], names))
}

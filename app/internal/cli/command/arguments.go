package command

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// Unlimited is the number of arguments of a command that takes any number.
const Unlimited = -1

// Takes checks the number of arguments of a command: between least and most, or unlimited. The
// error shows the arguments as its help does, and its first example.
func Takes(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && (most == Unlimited || len(args) <= most) {
			return nil
		}
		name := strings.TrimPrefix(c.CommandPath(), "dendro ")
		usage := strings.TrimPrefix(c.UseLine(), c.CommandPath()+" ")
		usage = strings.TrimSpace(strings.ReplaceAll(usage, "[flags]", ""))
		if len(args) < least {
			return Usagef("%s needs %s%s", name, usage, firstExample(c))
		}
		return Usagef("%s takes %s, got %d arguments (quote one that contains blanks, * or ?): %.200q", name, usage, len(args), args)
	}
}

var example = regexp.MustCompile(`(?m)^\s*(dendro .*)$`)

// firstExample ends a message with the first example of a command's help.
func firstExample(c *cobra.Command) string {
	if m := example.FindStringSubmatch(c.Example); m != nil {
		return ", for example: " + m[1]
	}
	return ""
}

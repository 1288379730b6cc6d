package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dendroprof/dendro/app/internal/cli/command"
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

// explainFlag explains a flag that is wrong: to an unknown one it adds those that were perhaps
// meant, and a wrong value it names once.
func explainFlag(c *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalidValue(invalid)
	}
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, words.DidYouMean(m[1], names))
}

// invalidValue is the error of a flag whose value cannot be parsed.
func invalidValue(err *pflag.InvalidValueError) error {
	flag, value, cause := "--"+err.GetFlag().Name, err.GetValue(), err.Unwrap()
	var number *strconv.NumError // of a flag of the flag library's own types
	switch {
	case errors.As(cause, &number) && errors.Is(cause, strconv.ErrRange):
		return command.Usagef("%s: %.60q is too large", flag, value)
	case errors.As(cause, &number) && strings.HasPrefix(err.GetFlag().Value.Type(), "float"):
		return command.Usagef("%s: %.60q is not a number", flag, value)
	case errors.As(cause, &number) && strings.Contains(err.GetFlag().Value.Type(), "int"):
		return command.Usagef("%s: %.60q is not a whole number", flag, value)
	case strings.Contains(cause.Error(), strconv.Quote(value)), strings.HasPrefix(cause.Error(), value+" "):
		return command.Usagef("%s: %w", flag, cause)
	}
	return command.Usagef("%s: %.60q: %w", flag, value, cause)
}

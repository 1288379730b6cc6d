package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

func newBatch(e *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "batch [flags]",
		Short: "Run many commands in one process, as JSON lines",
		Long: `Read commands from stdin, one per line, as JSON arrays of arguments. Print one JSON
object per command, in the same order: its exit status, stdout and stderr.

Decoded files stay in memory, so that a program can query the same profiles many
times. A file that changed on disk is read again. A line that is not an array of
strings gets status 2.`,
		Example: `  printf '%s\n' '["tree","cpu.pb.gz","-o","json"]' '["top","cpu.pb.gz"]' | dendro batch`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if e.Decoded != nil {
				return command.Usagef("batch cannot run batch")
			}
			return runBatch(c.Context(), e)
		},
	}
}

// batchAnswer is what one line is answered with.
type batchAnswer struct {
	Status int    `json:"status"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// batchLine is the longest line that batch reads, in bytes.
const batchLine = 16 << 20

func runBatch(ctx context.Context, e *command.Env) error {
	kept := command.NewDecodedFiles()
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	in := bufio.NewReader(e.In)
	for ctx.Err() == nil {
		line, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		answer := batchAnswer{Status: exitUsage, Stderr: "dendro: a line of more than 16 MiB\n"}
		switch {
		case errors.Is(err, bufio.ErrTooLong):
		case err != nil:
			return err
		case len(line) == 0:
			continue
		default:
			answer = answerLine(ctx, e, kept, line)
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readLine returns the next line without the white space around it, io.EOF behind
// the last one, or bufio.ErrTooLong when it skipped one that is too long.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > batchLine; !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (long || len(line) > 0):
		case err != nil:
			return nil, err
		}
		if long {
			return nil, bufio.ErrTooLong
		}
		return bytes.TrimSpace(line), nil
	}
}

// answerLine runs the command of one line.
func answerLine(ctx context.Context, e *command.Env, kept *command.DecodedFiles, line []byte) batchAnswer {
	var args []string
	if err := json.Unmarshal(line, &args); err != nil {
		return batchAnswer{Status: exitUsage, Stderr: "dendro: not a JSON array of strings: " + command.EscapeLines(err.Error()) + "\n"}
	}
	var out, errOut bytes.Buffer
	sub := &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut, Store: e.Store, TokenFile: e.TokenFile, NoColor: e.NoColor,
		Decoded: kept}
	status := run(ctx, sub, args)
	return batchAnswer{Status: status, Stdout: out.String(), Stderr: errOut.String()}
}

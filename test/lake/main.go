// Command lake runs a command beside the servers that a lake of several machines needs:
//
//	go run ./test/lake -- tools/spark-test
//
// With -hours N DIRECTORY in place of a command it hands N hours of three simulated services over to a lake
// in a directory, those that the lake does not have.
//
// Else it starts Debian's PostgreSQL with an empty database, and a server of the protocol of
// Amazon S3 with an empty bucket "dendro", on free ports. It runs the command with the
// variables below, stops the servers and exits with the status of the command.
//
//	DENDRO_TEST_POSTGRES    the URL of the database, which needs no password
//	AWS_…                   address and credentials of the bucket
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/test/lake/fleet"
	"github.com/dendroprof/dendro/test/postgres"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		os.Exit(max(1, ended.ExitCode()))
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "lake:", err)
		os.Exit(1)
	}
}

// handOver hands hours of simulated services over to a lake, one after the other.
func handOver(ctx context.Context, number, dir string) error {
	until, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	hours, err := iceberg.OpenHours(ctx, dir, 72*time.Hour)
	if err != nil {
		return err
	}
	defer hours.Close()
	worker := fleet.New(0, 3, 1)
	for worker.Handover < until {
		worker.Handover++
		n, err := hours.Publish(ctx, 0, worker, time.Time{})
		if err != nil {
			return err
		}
		fmt.Println("handed over:", n)
	}
	return nil
}

func run(ctx context.Context, command []string) error {
	if len(command) == 3 && command[0] == "-hours" {
		return handOver(ctx, command[1], command[2])
	}
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return errors.New("no command to run: lake -- COMMAND [ARGUMENT]")
	}
	p, err := postgres.Start(ctx)
	if err != nil {
		return err
	}
	defer p.Stop()
	url, err := p.Database(ctx, "lake")
	if err != nil {
		return err
	}
	b, err := startBucket()
	if err != nil {
		return err
	}
	defer b.Close()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(append(os.Environ(), b.env...), "DENDRO_TEST_POSTGRES="+url)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}

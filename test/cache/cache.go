// Package cache keeps what tests download, so that it is downloaded once:
// servers, agents, and what they need.
//
// Everything lies in one folder, $DENDRO_TEST_CACHE or .cache/dendro-test of the home
// directory, each thing in a folder of its own whose name has its version. A
// folder that is there is whole. What is in it is not changed.
package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// Dir returns the folder of everything.
func Dir() (string, error) {
	if dir := os.Getenv("DENDRO_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for downloads: %w (set DENDRO_TEST_CACHE)", err)
	}
	return filepath.Join(home, ".cache", "dendro-test"), nil
}

// Folder returns the folder of a thing and lets fill make its content, in a folder
// beside it, if it is not there yet. Several processes may ask at once: each may
// fill, and the first is taken.
func Folder(name string, fill func(dir string) error) (string, error) {
	all, err := Dir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(all, name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(all, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(all, name+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := fill(work); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(work, folder); err != nil {
		if _, there := os.Stat(folder); there == nil {
			return folder, nil // another process was faster
		}
		return "", err
	}
	return folder, nil
}

// ErrSum: what was downloaded is not what was expected.
var ErrSum = errors.New("its SHA-256 is another")

// Download writes what lies at an address into a file, if it has the given
// SHA-256, in hexadecimal digits.
func Download(ctx context.Context, address, sum, file string) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, hash), resp.Body); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	if got := fmt.Sprintf("%x", hash.Sum(nil)); got != sum {
		return fmt.Errorf("%s: %w: %s", address, ErrSum, got)
	}
	return nil
}

package gitlog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of ReadVersions.
const (
	mostVersions = 64      // files
	largestFile  = 8 << 20 // bytes that are read of a file
)

// Versions are a file's contents at two commits; nil where the file does not exist.
type Versions struct {
	Path string
	Base []byte
	Head []byte
}

// ReadVersions returns the contents of changed files at two commits of the repository at
// dir: those that wanted selects by path, at most 64, of each the first 8 MiB; of others
// (content is false) only whether they exist, as empty contents. It returns nothing if the
// repository lacks one of the commits.
func ReadVersions(ctx context.Context, dir, from, to string, wanted func(path string) (content, ok bool)) ([]Versions, error) {
	if from == "" || to == "" {
		return nil, nil
	}
	r, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer r.close()
	for _, revision := range []*string{&from, &to} {
		hash, err := r.commit(*revision)
		if err != nil {
			return nil, fmt.Errorf("repository %s: %w", dir, err)
		}
		*revision = hash
	}
	var list []Versions
	status := ""
	err = r.stream(fields(func(field string) error {
		if status == "" {
			status = field
			return nil
		}
		base, head := status != "A", status != "D"
		status = ""
		if _, ok := wanted(field); !ok || len(list) == mostVersions {
			return nil
		}
		v := Versions{Path: field}
		if base {
			v.Base = []byte{}
		}
		if head {
			v.Head = []byte{}
		}
		list = append(list, v)
		return nil
	}), "diff", "-z", "--name-status", "--no-ext-diff", "--no-renames", from, to, "--")
	for i := range list {
		if content, _ := wanted(list[i].Path); !content || err != nil {
			continue
		}
		for _, side := range []struct {
			commit string
			to     *[]byte
		}{{from, &list[i].Base}, {to, &list[i].Head}} {
			if *side.to == nil {
				continue
			}
			err = r.stream(func(out *bufio.Reader) error {
				data, err := io.ReadAll(io.LimitReader(out, largestFile))
				if err == nil {
					_, err = io.Copy(io.Discard, out)
				}
				*side.to = data
				return err
			}, "cat-file", "blob", side.commit+":"+list[i].Path)
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", dir, err)
	}
	slices.SortFunc(list, func(a, b Versions) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

package gitlog

import (
	"bufio"
	"context"
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
	var list []Versions
	err := with(ctx, dir, func(r *repository) (err error) {
		if err := r.commits(&from, &to); err != nil {
			return err
		}
		if list, err = r.changed(from, to, wanted); err != nil {
			return err
		}
		for i := range list {
			v := &list[i]
			if content, _ := wanted(v.Path); !content {
				continue
			}
			if err := r.file(from, v.Path, &v.Base); err != nil {
				return err
			}
			if err := r.file(to, v.Path, &v.Head); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Versions) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// changed lists the files of ReadVersions, with empty contents.
func (r *repository) changed(from, to string, wanted func(path string) (content, ok bool)) (list []Versions, err error) {
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
	return list, err
}

// file reads a file of a commit, unless content is nil: it does not exist there.
func (r *repository) file(commit, path string, content *[]byte) error {
	if *content == nil {
		return nil
	}
	return r.stream(func(out *bufio.Reader) (err error) {
		if *content, err = io.ReadAll(io.LimitReader(out, largestFile)); err == nil {
			_, err = io.Copy(io.Discard, out)
		}
		return err
	}, "cat-file", "blob", commit+":"+path)
}

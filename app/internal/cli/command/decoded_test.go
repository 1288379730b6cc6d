package command

import "testing"

func TestDecodedFilesAreBounded(t *testing.T) {
	k := NewDecodedFiles()
	k.files.Reset(10)
	k.put(decodedKey{name: "one"}, nil, 4)
	k.put(decodedKey{name: "huge"}, nil, 11)
	if _, ok := k.get(decodedKey{name: "huge"}); ok {
		t.Error("a file with no room is kept")
	}
	if _, ok := k.get(decodedKey{name: "one"}); !ok {
		t.Error("it took the room of another")
	}
}

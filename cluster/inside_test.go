package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// disk is a machine with one file, whose bytes may change on their way.
type disk struct {
	Guests
	file  []byte
	wrong bool
}

func (d *disk) Run(_ context.Context, _ *model.Guest, command []string, input string) (Ran, error) {
	switch line := strings.Join(command, " "); {
	case strings.HasPrefix(line, "sha256sum "):
		return Ran{Out: fmt.Sprintf("%x  /file\n", sha256.Sum256(d.file))}, nil
	case strings.Contains(line, "| head -c"):
		var from int
		if _, err := fmt.Sscanf(line, "sh -c tail -c +%d", &from); err != nil {
			return Ran{}, err
		}
		part := bytes.Clone(d.file[min(from-1, len(d.file)):])
		part = part[:min(len(part), partOut)]
		if d.wrong {
			part = part[:len(part)-1]
		}
		return Ran{Out: base64.StdEncoding.EncodeToString(part)}, nil
	default:
		part, err := base64.StdEncoding.DecodeString(input)
		if !strings.Contains(line, ">>") {
			d.file = nil
		}
		if d.file = append(d.file, part...); d.wrong {
			d.file = append(d.file, 'x')
		}
		return Ran{}, err
	}
}

func TestLargeFilesArriveWholeOrNotAtAll(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot "), partOut/8)
	for _, wrong := range []bool{false, true} {
		d := &disk{wrong: wrong}
		if err := writeLarge(t.Context(), d, &model.Guest{Name: "lab-cp-0"}, "/file", data); (err != nil) != wrong {
			t.Errorf("changed %t: writing gives %v", wrong, err)
		}
		d.file = data
		have, err := readLarge(t.Context(), d, &model.Guest{Name: "lab-cp-0"}, "/file")
		if (err != nil) != wrong || !wrong && !bytes.Equal(have, data) {
			t.Errorf("changed %t: %d of %d bytes, %v", wrong, len(have), len(data), err)
		}
	}
}

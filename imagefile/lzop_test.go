package imagefile_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/test/kit/packed"
)

func unlzop(t *testing.T, file []byte) ([]byte, error) {
	t.Helper()
	in, err := imagefile.New(nil).Open(t.Context(), imagefile.Source{URL: serve(t, file), Packing: "lzo"})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// stored is a file as lzop 1.03 writes it for four bytes, which can't be packed.
const stored = "894c5a4f000d0a1a0a1030208009400201" + "03000001" + "000081a4" + "5a000000" + "00000000" + "00"

func TestBlocksOfLZOP(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 700<<10)
	for i := range noise {
		noise[i] = byte(dice.Uint32())
	}
	text := bytes.Repeat([]byte("the same again, and again; "), 40000)
	for name, image := range map[string][]byte{
		"noise, which is stored": noise, "repeated text": text, "zeros": make([]byte, 1<<20), "mixed": append(append(bytes.Clone(text[:300<<10]), noise...), text[:1001]...), "short": []byte("abc"),
	} {
		file := packed.As("lzo", image)
		if got, err := unlzop(t, file); err != nil || !bytes.Equal(got, image) {
			t.Errorf("%s: %d bytes instead of %d, %v", name, len(got), len(image), err)
		}
		if got, err := unlzop(t, append(bytes.Clone(file), file...)); err != nil || len(got) != 2*len(image) {
			t.Errorf("%s, twice: %d bytes instead of %d, %v", name, len(got), 2*len(image), err)
		}
	}
}

// What is broken is an error of its own kind, and nothing worse.
func TestWhatIsBrokenInLZOP(t *testing.T) {
	image := bytes.Repeat([]byte("some content that repeats; "), 3000)
	file := packed.As("lzo", image)
	dice := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		broken := bytes.Clone(file)
		at := dice.IntN(len(broken) - 4) // the end is read by who wants more
		broken[at] ^= byte(1 + dice.IntN(255))
		if got, err := unlzop(t, broken); !errors.Is(err, imagefile.ErrContent) && !bytes.Equal(got, image) {
			t.Errorf("byte %d is another one: %d bytes, %v", at, len(got), err)
		}
	}
	for _, length := range []int{0, 5, 20, 60, len(file) / 2, len(file) - 1} {
		if _, err := unlzop(t, file[:length]); !errors.Is(err, imagefile.ErrContent) {
			t.Errorf("it ends after %d bytes: %v", length, err)
		}
	}
	header, err := hex.DecodeString(stored)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unlzop(t, append(header, 0, 0, 0, 0)); !errors.Is(err, imagefile.ErrContent) {
		t.Errorf("another checksum of the header: %v", err)
	}
}

package imagefile_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/proxplane/proxplane/imagefile"
)

// xzOf packs bytes in blocks.
func xzOf(t *testing.T, content []byte, c xz.WriterConfig) []byte {
	t.Helper()
	var b bytes.Buffer
	if c.DictCap == 0 {
		c.DictCap = 1 << 16
	}
	w, err := c.NewWriter(&b)
	if err == nil {
		_, err = w.Write(content)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// noise is half random, so that some chunks aren't packed.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		if i/5000%2 == 0 {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

func TestXZOfAnyStructureIsRead(t *testing.T) {
	content := noise(300_000)
	for _, c := range []xz.WriterConfig{
		{}, {BlockSize: 10_000}, {BlockSize: 4_097, CheckSum: xz.CRC32}, {BlockSize: 100_001, CheckSum: xz.SHA256}, {BlockSize: 65_536, NoCheckSum: true}, {DictCap: 8 << 20},
	} {
		one := xzOf(t, content, c)
		for name, file := range map[string][]byte{
			"one stream": one, "two streams": append(bytes.Clone(one), one...), "padding between": append(append(bytes.Clone(one), make([]byte, 8)...), one...),
		} {
			in, err := imagefile.New(nil).Open(t.Context(), imagefile.Source{URL: serve(t, file), Packing: "xz"})
			if err != nil {
				t.Errorf("%s, %+v: %v", name, c, err)
				continue
			}
			got, err := io.ReadAll(in)
			want := content
			if name != "one stream" {
				want = append(bytes.Clone(content), content...)
			}
			if err = errors.Join(err, in.Close()); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %+v: %d bytes, %v", name, c, len(got), err)
			}
		}
	}
}

func TestNoBlockOfAnXZTakesTooMuchMemory(t *testing.T) {
	content := noise(300_000)
	for name, file := range map[string][]byte{
		"the last of many blocks": xzOf(t, content, xz.WriterConfig{BlockSize: 10_000}),
		"a second stream":         append(xzOf(t, content, xz.WriterConfig{}), xzOf(t, content, xz.WriterConfig{})...),
	} {
		header := bytes.Clone(file[12 : 12+12])
		last := bytes.LastIndex(file, header)
		if last == 12 {
			t.Fatalf("%s: there is one block only", name)
		}
		file[last+4] = 40 // 4 GiB
		_, err := imagefile.New(nil).Measure(t.Context(), imagefile.Source{URL: serve(t, file), Packing: "xz"}, 0, nil)
		if !errors.Is(err, imagefile.ErrContent) || !strings.Contains(err.Error(), "of memory; pack it with xz -9 or less") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABrokenXZIsToldAndEnds(t *testing.T) {
	good := xzOf(t, noise(50_000), xz.WriterConfig{BlockSize: 10_000})
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		file := bytes.Clone(good)
		file[r.IntN(len(file))] ^= byte(1 + r.IntN(255))
		if r.IntN(4) == 0 {
			file = file[:r.IntN(len(file))]
		}
		_, err := imagefile.New(nil).Measure(t.Context(), imagefile.Source{URL: serve(t, file), Packing: "xz"}, 0, nil)
		if err != nil && !errors.Is(err, imagefile.ErrContent) {
			t.Errorf("%v", err)
		}
	}
}

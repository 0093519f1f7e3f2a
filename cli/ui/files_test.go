//go:build unix

package ui

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAFileBehindALinkIsWrittenAndTheLinkStays(t *testing.T) {
	folder := t.TempDir()
	real, link := filepath.Join(folder, "dotfiles", "config"), filepath.Join(folder, "config")
	if err := WriteWhole(real, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteWhole(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(real); err != nil || string(text) != "new" {
		t.Errorf("behind the link is %q, %v", text, err)
	}
	if to, err := os.Readlink(link); err != nil || to != real {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestAPipeIsWrittenToAndStays(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckWritable(pipe); err != nil {
		t.Error(err)
	}
	got := make(chan string)
	go func() {
		text, err := os.ReadFile(pipe)
		got <- string(text)
		if err != nil {
			t.Error(err)
		}
	}()
	if err := WriteWhole(pipe, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().IsRegular() {
		t.Fatal("a file has taken its place") // and nobody ever writes to the pipe
	}
	if text := <-got; text != "text" {
		t.Errorf("the pipe gets %q", text)
	}
}

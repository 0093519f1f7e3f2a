package loadtest

import (
	"errors"
	"fmt"
	"os"

	"github.com/proxplane/proxplane/loadtest"
)

// page is the file for the page with charts; nil: none is wanted.
type page struct{ *os.File }

func (l *loading) newPage() (*page, error) {
	if l.html == "" {
		return nil, nil
	}
	f, err := os.Create(l.html)
	if err != nil {
		return nil, err
	}
	return &page{f}, nil
}

func (p *page) write(report *loadtest.Report) error {
	if p == nil {
		return nil
	}
	if err := errors.Join(report.HTML(p), p.Close()); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// discard takes an empty page away.
func (p *page) discard() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.Close(), os.Remove(p.Name()))
}

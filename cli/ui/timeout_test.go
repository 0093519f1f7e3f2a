package ui

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Whatever was under way when --timeout ended, the error says that.
func TestTheEndOfTheTimeIsNamed(t *testing.T) {
	ctx, cancel := WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	var late *TimeoutError
	if err := Ending(ctx, fmt.Errorf("wait for admission: %w", ctx.Err())); !errors.As(err, &late) {
		t.Errorf("the time is over: %v", err)
	}
	other := errors.New("no space left")
	if err := Ending(ctx, other); !errors.Is(err, other) {
		t.Errorf("another error: %v", err)
	}
	if err := Ending(t.Context(), context.DeadlineExceeded); errors.As(err, &late) {
		t.Errorf("a request's own time was over: %v", err)
	}
	if Ending(ctx, nil) != nil {
		t.Error("nothing went wrong")
	}
}

package ui

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"
)

// logging are the flags of the log's level.
type logging struct {
	Level   string
	verbose int
	Logger  *slog.Logger
}

func (u *UI) LogFlags(fs *pflag.FlagSet) {
	fs.StringVar(&u.Log.Level, "log-level", "warn", "log messages of this `LEVEL` and above to the standard error: debug, info, warn or error")
	fs.CountVarP(&u.Log.verbose, "verbose", "v", "``log more: -v is info, -vv is debug with every request")
}

// StartLog makes the logger that the flags ask for. Requests are logged
// without their secrets: the client sees to that.
func (u *UI) StartLog() error {
	level, err := u.Log.Wanted(u.Log.Level)
	if err != nil {
		return err
	}
	u.Log.Logger = slog.New(slog.NewTextHandler(u.Err, &slog.HandlerOptions{Level: level, ReplaceAttr: shortTime}))
	if level == slog.LevelWarn {
		u.Log.Logger = slog.New(notes{u})
	}
	return nil
}

// Wanted returns the level that the flags ask for, with another word for --log-level.
func (l *logging) Wanted(word string) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(word)); err != nil {
		return level, fmt.Errorf("--log-level %s: want debug, info, warn or error", word)
	}
	switch {
	case l.verbose >= 2:
		level = min(level, slog.LevelDebug)
	case l.verbose == 1:
		level = min(level, slog.LevelInfo)
	}
	return level, nil
}

// shortTime leaves the day out.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Value = slog.StringValue(a.Value.Time().Format("15:04:05.000"))
	}
	if len(groups) == 0 && a.Key == slog.LevelKey {
		a.Value = slog.StringValue(strings.ToLower(a.Value.String()))
	}
	return a
}

// notes prints warnings, if no log was requested.
type notes struct{ u *UI }

func (n notes) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (n notes) WithAttrs([]slog.Attr) slog.Handler               { return n }
func (n notes) WithGroup(string) slog.Handler                    { return n }

func (n notes) Handle(_ context.Context, r slog.Record) error {
	text := strings.TrimPrefix(r.Message, "pve: ")
	r.Attrs(func(a slog.Attr) bool {
		text += ": " + a.Value.String()
		return true
	})
	n.u.Note("%s", text)
	return nil
}

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"
)

// logging says how much is told about what goes on inside.
type logging struct {
	level   string
	verbose int
	logger  *slog.Logger
}

func (u *ui) logFlags(fs *pflag.FlagSet) {
	fs.StringVar(&u.log.level, "log-level", "warn", "log messages of this `LEVEL` and above to the standard error: debug, info, warn or error")
	fs.CountVarP(&u.log.verbose, "verbose", "v", "``log more: -v is info, -vv is debug with every request")
}

// startLog makes the logger that the flags ask for. Requests are logged
// without their secrets: the client sees to that.
func (u *ui) startLog() error {
	level, err := u.log.wanted(u.log.level)
	if err != nil {
		return err
	}
	u.log.logger = slog.New(slog.NewTextHandler(u.err, &slog.HandlerOptions{Level: level, ReplaceAttr: shortTime}))
	if level == slog.LevelWarn {
		u.log.logger = slog.New(notes{u})
	}
	return nil
}

// wanted is the level that the flags ask for, with another word for --log-level.
func (l *logging) wanted(word string) (level slog.Level, err error) {
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

// shortTime leaves the day away.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Value = slog.StringValue(a.Value.Time().Format("15:04:05.000"))
	}
	if len(groups) == 0 && a.Key == slog.LevelKey {
		a.Value = slog.StringValue(strings.ToLower(a.Value.String()))
	}
	return a
}

// notes tells people what goes wrong on the way, when nobody asked for a log.
type notes struct{ u *ui }

func (n notes) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (n notes) WithAttrs([]slog.Attr) slog.Handler               { return n }
func (n notes) WithGroup(string) slog.Handler                    { return n }

func (n notes) Handle(_ context.Context, r slog.Record) error {
	text := strings.TrimPrefix(r.Message, "pve: ")
	r.Attrs(func(a slog.Attr) bool {
		text += ": " + a.Value.String()
		return true
	})
	n.u.note("%s", text)
	return nil
}

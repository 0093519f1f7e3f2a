package machines

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger has what machine-controller's controllers log go where the rest does.
func zapLogger(log *slog.Logger) *zap.SugaredLogger { return zap.New(&bridge{log: log}).Sugar() }

// bridge is a core of zap that writes to slog.
type bridge struct{ log *slog.Logger }

func level(l zapcore.Level) slog.Level {
	switch {
	case l < zapcore.WarnLevel:
		return slog.LevelDebug // the original says a lot
	case l == zapcore.WarnLevel:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// Enabled reports whether something of a level is written.
func (b *bridge) Enabled(l zapcore.Level) bool { return b.log.Enabled(context.Background(), level(l)) }

// With adds fields to all that follows.
func (b *bridge) With(fields []zapcore.Field) zapcore.Core {
	return &bridge{log: b.log.With(args(fields)...)}
}

// Check adds the core to what writes an entry.
func (b *bridge) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if b.Enabled(e.Level) {
		return to.AddCore(e, b)
	}
	return to
}

// Write writes an entry.
func (b *bridge) Write(e zapcore.Entry, fields []zapcore.Field) error {
	at := level(e.Level)
	if slices.ContainsFunc(fields, func(f zapcore.Field) bool { return conflict(f.Interface) }) {
		at = slog.LevelDebug
	}
	b.log.Log(context.Background(), at, e.Message, args(fields)...)
	return nil
}

// Sync does nothing.
func (*bridge) Sync() error { return nil }

func args(fields []zapcore.Field) []any {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	var out []any
	for k, v := range enc.Fields {
		out = append(out, k, v)
	}
	return out
}

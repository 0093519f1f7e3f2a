package world

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as "2s".
type Duration time.Duration

// D returns the duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// UnmarshalJSON reads "1.5s" or a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var secs float64
	if err := json.Unmarshal(b, &secs); err == nil {
		*d = Duration(secs * float64(time.Second))
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("duration %s: want a text like \"2s\"", b)
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON writes "1.5s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.D().String()) }

// Size is a number of bytes that is written as "24Gi".
type Size int64

var sizeUnits = []struct {
	suffix string
	factor int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40},
}

// UnmarshalJSON reads "24Gi" or a number of bytes.
func (s *Size) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	factor := int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = rest, u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("size %s: want a text like \"24Gi\"", b)
	}
	*s = Size(v * float64(factor))
	return nil
}

// MarshalJSON writes the largest unit that divides the size.
func (s Size) MarshalJSON() ([]byte, error) {
	for i := 3; i >= 0; i-- {
		if u := sizeUnits[i]; int64(s) >= u.factor && int64(s)%u.factor == 0 {
			return json.Marshal(strconv.FormatInt(int64(s)/u.factor, 10) + u.suffix)
		}
	}
	return json.Marshal(int64(s))
}

package pve

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Proxmox is Perl: a number comes as 5 or "5", a boolean as 1, "1", "" or true, an empty list
// as [] or {}, and what is missing means the default. Results are plain Go structs, and this
// file brings the one to the other.

// envelope is the outermost object of an answer.
type envelope struct {
	data  any
	total int // of paged lists
}

func parseEnvelope(body []byte) (envelope, error) {
	var top any
	if err := unmarshalNumbers(body, &top); err != nil {
		return envelope{}, fmt.Errorf("the answer is not JSON: %w", err)
	}
	object, ok := top.(map[string]any)
	if !ok {
		return envelope{}, errors.New("the answer is not a JSON object")
	}
	data, ok := object["data"]
	if !ok {
		return envelope{}, errors.New("the answer has no data, so it isn't from Proxmox")
	}
	env := envelope{data: data}
	if err := assign(reflect.ValueOf(&env.total).Elem(), object["total"]); err != nil {
		return envelope{}, fmt.Errorf("total: %w", err)
	}
	return env, nil
}

// unmarshalNumbers keeps numbers as they were written.
func unmarshalNumbers(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is something after its end")
	}
	return nil
}

// decode fills out, a pointer, from the parsed data of an answer.
func decode(data any, out any) error {
	return assign(reflect.ValueOf(out).Elem(), data)
}

func assign(dst reflect.Value, src any) error {
	if src == nil {
		return nil
	}
	switch dst.Addr().Interface().(type) {
	case *Settings:
		object, ok := src.(map[string]any)
		if !ok {
			return mismatch(dst, src)
		}
		dst.Set(reflect.ValueOf(settingsOf(object)))
		return nil
	case *time.Time:
		var seconds float64
		if err := assign(reflect.ValueOf(&seconds).Elem(), src); err != nil || seconds == 0 {
			return err
		}
		dst.Set(reflect.ValueOf(time.Unix(int64(seconds), 0)))
		return nil
	case encoding.TextUnmarshaler:
		return dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(scalarText(src)))
	}
	switch dst.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(dst.Type().Elem())
		if err := assign(fresh.Elem(), src); err != nil {
			return err
		}
		dst.Set(fresh)
		return nil
	case reflect.Interface:
		dst.Set(reflect.ValueOf(src))
		return nil
	case reflect.Struct:
		return assignStruct(dst, src)
	case reflect.Map:
		return assignMap(dst, src)
	case reflect.Slice:
		return assignSlice(dst, src)
	default:
		return assignScalar(dst, src)
	}
}

func assignScalar(dst reflect.Value, src any) error {
	text := strings.TrimSpace(scalarText(src))
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(scalarText(src))
		return nil
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "", "0", "no", "off", "false":
			dst.SetBool(false)
			return nil
		case "1", "yes", "on", "true":
			dst.SetBool(true)
			return nil
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			dst.SetBool(n != 0)
			return nil
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if text == "" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			// Perl turns large or divided integers into floats: 1.5e+10, 12.0.
			f, ferr := strconv.ParseFloat(text, 64)
			if ferr != nil || !(math.Abs(f) < 1<<63) {
				return mismatch(dst, src)
			}
			n = int64(f)
		}
		if dst.OverflowInt(n) {
			return mismatch(dst, src)
		}
		dst.SetInt(n)
		return nil
	case reflect.Float32, reflect.Float64:
		if text == "" {
			return nil
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			dst.SetFloat(f)
			return nil
		}
	}
	return mismatch(dst, src)
}

func assignSlice(dst reflect.Value, src any) error {
	var items []any
	switch src := src.(type) {
	case []any:
		items = src
	case map[string]any:
		if len(src) > 0 {
			return mismatch(dst, src)
		}
	default:
		if dst.Type().Elem().Kind() != reflect.String {
			return mismatch(dst, src)
		}
		for _, word := range splitList(scalarText(src)) {
			items = append(items, word)
		}
	}
	out := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		if err := assign(out.Index(i), item); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	dst.Set(out)
	return nil
}

func assignMap(dst reflect.Value, src any) error {
	object, ok := src.(map[string]any)
	if !ok {
		if isEmpty(src) {
			return nil
		}
		return mismatch(dst, src)
	}
	out := reflect.MakeMapWithSize(dst.Type(), len(object))
	for key, value := range object {
		item := reflect.New(dst.Type().Elem()).Elem()
		if err := assign(item, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		out.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), item)
	}
	dst.Set(out)
	return nil
}

// splitList splits the way Proxmox splits lists: on commas, semicolons and white space.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == 0
	})
}

// scalarText is a JSON value as Proxmox would write it in a config.
func scalarText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case json.Number:
		return value.String()
	case bool:
		if value {
			return "1"
		}
		return "0"
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprint(value)
		}
		return string(text)
	}
}

func isEmpty(src any) bool {
	switch src := src.(type) {
	case []any:
		return len(src) == 0
	case map[string]any:
		return len(src) == 0
	case string:
		return src == ""
	}
	return false
}

func mismatch(dst reflect.Value, src any) error {
	switch dst.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		// The value isn't shown: who knows what it is.
		return fmt.Errorf("a JSON %T is no %v", src, dst.Type())
	}
	return fmt.Errorf("%q is no %v", shortened(scalarText(src), 80), dst.Type())
}

package pve

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

func assignStruct(dst reflect.Value, src any) error {
	object, ok := src.(map[string]any)
	if !ok {
		if isEmpty(src) {
			return nil
		}
		return mismatch(dst, src)
	}
	for _, field := range fieldsOf(dst.Type()) {
		value, ok := object[field.name]
		if !ok {
			continue
		}
		if field.presence {
			value = true // with null, too
		}
		if err := assign(dst.FieldByIndex(field.index), value); err != nil {
			return fmt.Errorf("%s: %w", field.name, err)
		}
	}
	return nil
}

type structField struct {
	name     string
	index    []int
	presence bool // it holds whether the key is there, whatever its value
}

var structFields sync.Map // reflect.Type → []structField

func fieldsOf(t reflect.Type) []structField {
	if cached, ok := structFields.Load(t); ok {
		return cached.([]structField)
	}
	var fields []structField
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && f.IsExported() {
			fields = append(fields, structField{name: name, index: f.Index})
		}
		if name := f.Tag.Get("present"); name != "" {
			fields = append(fields, structField{name: name, index: f.Index, presence: true})
		}
	}
	structFields.Store(t, fields)
	return fields
}

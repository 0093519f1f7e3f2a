package manifest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/spec/suggest"
)

func (d *decoder) scalar(node *yaml.Node, v reflect.Value, path string) {
	words := map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Int32: "a whole number"}
	want := words[v.Kind()]
	if node.Kind != yaml.ScalarNode {
		d.fail(node, path, "want %s, have %s", want, kindName(node))
		return
	}
	quoted := node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	switch v.Kind() {
	case reflect.String:
		v.SetString(node.Value)
		if at := d.places[path]; node.Style&yaml.LiteralStyle != 0 {
			at.text = node.Line + 1
			d.places[path] = at
		}
		return
	case reflect.Bool:
		if b, ok := parseBool(node.Value); ok && !quoted {
			v.SetBool(b)
			return
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n, err := strconv.ParseInt(node.Value, 10, v.Type().Bits()); err == nil && !quoted {
			v.SetInt(n)
			return
		}
	default:
		d.fail(node, path, "a field of this type can't be read")
		return
	}
	hint := ""
	if _, isBool := parseBool(node.Value); quoted && (isBool || v.Kind() != reflect.Bool && node.Value != "" && strings.Trim(node.Value, "0123456789") == "") {
		hint = ": leave the quotes out"
	}
	d.fail(node, path, "want %s, have %q%s", want, suggest.Shortened(node.Value), hint)
}

// parseBool reads booleans as YAML 1.1 does.
func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

func (d *decoder) bytes(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.ScalarNode {
		d.fail(node, path, "want a text in base64, have %s", kindName(node))
		return
	}
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(node.Value), ""))
	if err != nil {
		d.fail(node, path, "isn't base64; plain text goes under stringData") // without the value, which is secret
		return
	}
	v.SetBytes(b)
}

// json lets a type read itself.
func (d *decoder) json(node *yaml.Node, u json.Unmarshaler, t reflect.Type, path string) {
	value, err := plain(node)
	if err == nil {
		var b []byte
		if b, err = json.Marshal(value); err == nil {
			err = u.UnmarshalJSON(b)
		}
	}
	switch {
	case err == nil:
	case t == quantityType && node.Kind == yaml.ScalarNode:
		d.fail(node, path, "%s", badQuantity(node.Value))
	case t == quantityType:
		d.fail(node, path, "want an amount such as 4Gi, have %s", kindName(node))
	default:
		d.fail(node, path, "%v", err)
	}
}

func badQuantity(have string) string {
	text := fmt.Sprintf("want an amount such as 4Gi or 512Mi, have %q", suggest.Shortened(have))
	fixed := strings.NewReplacer(" ", "", "GiB", "Gi", "MiB", "Mi", "TiB", "Ti", "KiB", "Ki", "GB", "Gi", "MB", "Mi", "TB", "Ti", "KB", "Ki").Replace(have)
	if _, err := resource.ParseQuantity(fixed); err == nil {
		text += fmt.Sprintf("; did you mean %s?", fixed)
	}
	return text
}

// plain gives a node as JSON would have it.
func plain(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.AliasNode:
		return plain(node.Alias)
	case yaml.ScalarNode:
		if tag := node.ShortTag(); tag == "!!int" || tag == "!!float" {
			if json.Valid([]byte(node.Value)) {
				return json.Number(node.Value), nil
			}
			return node.Value, nil
		} else if tag == "!!bool" {
			b, _ := parseBool(node.Value)
			return b, nil
		} else if tag == "!!null" {
			return nil, nil
		}
		return node.Value, nil
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			v, err := plain(item)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	}
	all := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("want names, have %s", kindName(node.Content[i]))
		}
		v, err := plain(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		all[node.Content[i].Value] = v
	}
	return all, nil
}

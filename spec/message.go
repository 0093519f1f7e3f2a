package spec

import (
	"fmt"
	"strings"
)

// Message is a sentence with names that each door replaces by its own: see [Name].
type Message struct {
	format string
	args   []any
}

// Name is a placeholder in a message: for an object, or for a field by its path. Each door has
// its own words for it, see [Words].
type Name string

// The objects that messages name, and that have fields beside the machine.
const (
	TheCluster Name = "the cluster" // the settings of a Proxmox cluster
	TheClass   Name = "the class"
	TheImage   Name = "the image"
	TheSecret  Name = "the secret"
	nowhere    Name = "nowhere" // a field is named without its place
)

// Words replaces names by the words of a door. A path is that of [Error.Field].
type Words struct {
	Object func(Name) string                 // one of the constants
	Field  func(of Name, path string) string // a field with its place; of is empty for a machine's
	Called func(path string) string          // a field without its place
}

// field is a field in words.
func (w Words) field(f fieldName) string {
	if f.of == nowhere {
		return w.Called(f.path)
	}
	return w.Field(f.of, f.path)
}

// Plain are the words of this package.
var Plain = Words{
	Object: func(n Name) string { return strings.TrimPrefix(string(n), "the ") },
	Field:  func(_ Name, path string) string { return path },
	Called: func(path string) string { return path },
}

// fieldName is a field that a message names.
type fieldName struct {
	of   Name
	path string
}

// message makes a message; names, fields and messages among the arguments are put into words later.
func message(format string, args ...any) Message { return Message{format, args} }

// inMachine, inCluster and inImage are fields with their places.
func inMachine(format string, args ...any) fieldName {
	return fieldName{path: fmt.Sprintf(format, args...)}
}
func inCluster(path string) fieldName { return fieldName{TheCluster, path} }
func inImage(path string) fieldName   { return fieldName{TheImage, path} }

// called is what a field is called, without its place.
func called(path string) fieldName { return fieldName{nowhere, path} }

// In returns the message in the words of a door.
func (m Message) In(w Words) string {
	args := make([]any, len(m.args))
	for i, arg := range m.args {
		switch arg := arg.(type) {
		case Name:
			args[i] = w.Object(arg)
		case fieldName:
			args[i] = w.field(arg)
		case Message:
			args[i] = arg.In(w)
		default:
			args[i] = arg
		}
	}
	return fmt.Sprintf(m.format, args...)
}

func (m Message) String() string { return m.In(Plain) }

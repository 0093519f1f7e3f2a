// Command promql takes expressions of Prometheus apart: a line of JSON with the
// expression in it comes in, a line with what it asks for goes out.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// asked is a metric that an expression asks for, with the labels that it goes by.
type asked struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	decode, encode := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var expr string
		if err := decode.Decode(&expr); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
		if err != nil {
			return fmt.Errorf("%s: %w", expr, err)
		}
		if err := encode.Encode(needs(tree)); err != nil {
			return err
		}
	}
}

// needs is what an expression asks for. Labels by which it groups must be those of
// every metric below.
func needs(tree parser.Node) []asked {
	var all []asked
	parser.Inspect(tree, func(n parser.Node, above []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		a := asked{Metric: s.Name, Labels: []string{}}
		for _, m := range s.LabelMatchers {
			if m.Name != labels.MetricName {
				a.Labels = append(a.Labels, m.Name)
			}
		}
		for _, up := range above {
			if g, ok := up.(*parser.AggregateExpr); ok && !g.Without {
				a.Labels = append(a.Labels, g.Grouping...)
			}
		}
		all = append(all, a)
		return nil
	})
	return all
}

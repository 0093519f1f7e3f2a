package nodeos

import (
	"bufio"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// lines hands on each line of the files or the input.
func (p *process) lines(program string, names []string, do func(line string)) int {
	return p.each(program, names, func(_ string, r io.Reader) error {
		s := bufio.NewScanner(r)
		s.Buffer(nil, 16<<20)
		for s.Scan() {
			do(s.Text())
		}
		return s.Err()
	})
}

func progGrep(p *process) int {
	letters, rest := p.options()
	if len(rest) == 0 {
		fmt.Fprintln(p.err, "Usage: grep [OPTION]... PATTERNS [FILE]...")
		return 2
	}
	pattern := rest[0]
	if strings.Contains(letters, "F") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if strings.Contains(letters, "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		fmt.Fprintln(p.err, "grep:", err)
		return 2
	}
	found := 0
	status := p.lines("grep", rest[1:], func(line string) {
		if re.MatchString(line) == strings.Contains(letters, "v") {
			return
		}
		found++
		if !strings.ContainsAny(letters, "qc") {
			fmt.Fprintln(p.out, line)
		}
	})
	if strings.Contains(letters, "c") {
		fmt.Fprintln(p.out, found)
	}
	switch {
	case status != 0:
		return 2
	case found == 0:
		return 1
	}
	return 0
}

// progCut knows -d and -f with single fields and lists of them.
func progCut(p *process) int {
	delim, list := "\t", ""
	var names []string
	for i := 0; i < len(p.args); i++ {
		a := p.args[i]
		value := func() string {
			if len(a) > 2 {
				return a[2:]
			}
			i++
			if i < len(p.args) {
				return p.args[i]
			}
			return ""
		}
		switch {
		case strings.HasPrefix(a, "-d"):
			delim = value()
		case strings.HasPrefix(a, "-f"):
			list = value()
		default:
			names = append(names, a)
		}
	}
	var fields []int
	for f := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 || delim == "" {
			fmt.Fprintf(p.err, "cut: invalid field value '%s'\n", list)
			return 1
		}
		fields = append(fields, n)
	}
	return p.lines("cut", names, func(line string) {
		parts := strings.Split(line, delim)
		if len(parts) == 1 {
			fmt.Fprintln(p.out, line)
			return
		}
		var out []string
		for _, n := range fields {
			if n <= len(parts) {
				out = append(out, parts[n-1])
			}
		}
		fmt.Fprintln(p.out, strings.Join(out, delim))
	})
}

func progWc(p *process) int {
	letters, names := p.options()
	return p.each("wc", names, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		text := string(data)
		var counts []string
		for _, c := range []struct {
			letter string
			n      int
		}{{"l", strings.Count(text, "\n")}, {"w", len(strings.Fields(text))}, {"c", len(text)}} {
			if letters == "" || strings.Contains(letters, c.letter) {
				counts = append(counts, fmt.Sprint(c.n))
			}
		}
		if name != "-" {
			counts = append(counts, name)
		}
		fmt.Fprintln(p.out, strings.Join(counts, " "))
		return err
	})
}

func progSum(newHash func() hash.Hash) func(*process) int {
	return func(p *process) int {
		_, names := p.options()
		return p.each("sum", names, func(name string, r io.Reader) error {
			h := newHash()
			_, err := io.Copy(h, r)
			if err == nil {
				fmt.Fprintf(p.out, "%x  %s\n", h.Sum(nil), name)
			}
			return err
		})
	}
}

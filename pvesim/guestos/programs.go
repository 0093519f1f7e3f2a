package guestos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

func progEcho(p *process, args []string) int {
	end := "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	p.out.WriteString(strings.Join(args, " ") + end)
	return 0
}

func progSleep(p *process, args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(&p.err, "sleep: missing operand")
		return 1
	}
	for _, a := range args {
		unit := time.Second
		if n := len(a); n > 0 {
			switch a[n-1] {
			case 's':
				a = a[:n-1]
			case 'm':
				a, unit = a[:n-1], time.Minute
			case 'h':
				a, unit = a[:n-1], time.Hour
			}
		}
		f, err := strconv.ParseFloat(a, 64)
		if err != nil || f < 0 {
			fmt.Fprintf(&p.err, "sleep: invalid time interval '%s'\n", a)
			return 1
		}
		p.lasts += time.Duration(f * float64(unit))
	}
	return 0
}

func progHostname(p *process, args []string) int {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		p.guest.Name = args[0]
		return 0
	}
	fmt.Fprintln(&p.out, p.guest.Name)
	return 0
}

func progUname(p *process, args []string) int {
	switch strings.Join(args, " ") {
	case "", "-s":
		fmt.Fprintln(&p.out, "Linux")
	case "-r":
		fmt.Fprintln(&p.out, Kernel)
	case "-m":
		fmt.Fprintln(&p.out, Architecture)
	case "-n":
		fmt.Fprintln(&p.out, p.guest.Name)
	default:
		fmt.Fprintln(&p.out, "Linux", p.guest.Name, Kernel, KernelBuild, Architecture, "GNU/Linux")
	}
	return 0
}

func progWhoami(p *process, _ []string) int {
	fmt.Fprintln(&p.out, "root")
	return 0
}

func progID(p *process, args []string) int {
	if slices.Contains(args, "-u") || slices.Contains(args, "-g") {
		fmt.Fprintln(&p.out, "0")
		return 0
	}
	fmt.Fprintln(&p.out, "uid=0(root) gid=0(root) groups=0(root)")
	return 0
}

func progDate(p *process, args []string) int {
	now := p.on.Now().UTC()
	switch strings.Join(args, " ") {
	case "+%s":
		fmt.Fprintln(&p.out, now.Unix())
		return 0
	case "+%s.%N":
		fmt.Fprintf(&p.out, "%d.%09d\n", now.Unix(), now.Nanosecond())
		return 0
	}
	fmt.Fprintln(&p.out, now.Format("Mon Jan _2 15:04:05 UTC 2006"))
	return 0
}

func progCloudInit(p *process, args []string) int {
	if len(args) == 0 || args[0] != "status" {
		return 0
	}
	settleKube(p.on)
	if p.guest.Kube.Failed != "" {
		fmt.Fprintln(&p.out, "status: error")
		return 1
	}
	fmt.Fprintln(&p.out, "status: done")
	return 0
}

func progPoweroff(p *process, args []string) int {
	if slices.Contains(args, "-r") {
		return progReboot(p, nil)
	}
	p.on.PowerOff()
	return 0
}

func progReboot(p *process, _ []string) int {
	p.on.Reboot()
	return 0
}

func progSystemctl(p *process, args []string) int {
	if len(args) == 0 {
		return 0
	}
	if code, known := p.service(args[0], args[len(args)-1]); known {
		return code
	}
	switch args[0] {
	case "poweroff", "halt":
		return progPoweroff(p, nil)
	case "reboot":
		return progReboot(p, nil)
	case "is-system-running":
		fmt.Fprintln(&p.out, "running")
	case "is-active":
		fmt.Fprintln(&p.out, "active")
	}
	return 0
}

func progEnv(p *process, _ []string) int {
	for _, k := range slices.Sorted(maps.Keys(p.vars)) {
		fmt.Fprintf(&p.out, "%s=%s\n", k, p.vars[k])
	}
	return 0
}

package pvesim

import (
	"maps"
	"slices"
)

// metricRoutes are the servers that figures are sent to. They are kept and
// nothing more: nobody is contacted.
func metricRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/metrics/server":         listMetricServers,
		"GET /cluster/metrics/server/{id}":    getMetricServer,
		"POST /cluster/metrics/server/{id}":   createMetricServer,
		"PUT /cluster/metrics/server/{id}":    updateMetricServer,
		"DELETE /cluster/metrics/server/{id}": deleteMetricServer,
	}
}

// metricKinds are the options of each type of server.
var metricKinds = map[string]sectionKind{
	"graphite": {"server": false, "port": true, "mtu": true, "proto": true, "timeout": true, "path": true, "disable": true},
	"influxdb": {
		"server": false, "port": false, "mtu": true, "disable": true, "organization": true, "bucket": true, "token": true, "influxdbproto": true,
		"timeout": true, "max-body-size": true, "api-path-prefix": true, "verify-certificate": true,
	},
	"opentelemetry": {
		"server": false, "port": true, "disable": true, "otel-protocol": true, "otel-path": true, "otel-timeout": true, "otel-headers": true,
		"otel-verify-ssl": true, "otel-max-body-size": true, "otel-resource-attributes": true, "otel-compression": true,
	},
}

func listMetricServers(c *call) (any, error) {
	list := []map[string]any{}
	for _, id := range sortedKeys(c.state.Metrics) {
		m := c.typedMetrics(c.state.Metrics[id])
		entry := map[string]any{"id": id, "disable": 0, "type": m["type"], "server": m["server"], "port": m["port"]}
		if m["disable"] != nil {
			entry["disable"] = m["disable"]
		}
		list = append(list, entry)
	}
	return list, nil
}

func (c *call) typedMetrics(m map[string]string) map[string]any {
	return typed(c.schema.Lookup("POST", "/cluster/metrics/server/{id}"), m)
}

func getMetricServer(c *call) (any, error) {
	id := c.params.Str("id")
	m := c.state.Metrics[id]
	if m == nil {
		return nil, die("status server entry '%s' does not exist", id)
	}
	return c.typedMetrics(m), nil
}

func createMetricServer(c *call) (any, error) {
	id, typ := c.params.Str("id"), c.params.Str("type")
	kind := metricKinds[typ]
	if kind == nil {
		return nil, die("unknown section type '%s'", typ)
	}
	if c.state.Metrics[id] != nil {
		return nil, die("Metric server '%s' already exists", id)
	}
	sec := c.section("id", "type", "token")
	if err := kind.check(sec, true); err != nil {
		return nil, err
	}
	sec["type"] = typ
	c.state.Metrics[id] = keepSection(sec)
	delete(c.state.MetricTokens, id)
	c.keepMetricToken(id, typ)
	return nil, nil
}

// keepMetricToken keeps the secret of a server apart from its entry.
func (c *call) keepMetricToken(id, typ string) {
	if typ == "influxdb" && c.params.Has("token") {
		c.state.MetricTokens[id] = c.params.Str("token")
	}
}

func updateMetricServer(c *call) (any, error) {
	if err := c.checkDigest(sectionDigest(c.state.Metrics)); err != nil {
		return nil, err
	}
	id := c.params.Str("id")
	m := c.state.Metrics[id]
	if m == nil {
		return nil, die("no such server '%s'", id)
	}
	kind := metricKinds[m["type"]]
	sec := c.section("id", "token")
	if err := kind.check(sec, false); err != nil {
		return nil, err
	}
	next := maps.Clone(m)
	maps.Copy(next, sec)
	for _, key := range c.params.List("delete") {
		if err := kind.remove(next, []string{key}); err != nil {
			return nil, err
		}
		if _, set := sec[key]; set {
			return nil, die("cannot set and delete property '%s' at the same time!", key)
		}
	}
	c.state.Metrics[id] = keepSection(next)
	if slices.Contains(c.params.List("delete"), "token") {
		delete(c.state.MetricTokens, id)
	}
	c.keepMetricToken(id, m["type"])
	return nil, nil
}

func deleteMetricServer(c *call) (any, error) {
	id := c.params.Str("id")
	if c.state.Metrics[id] == nil {
		return nil, die("cannot lookup undefined type! at /usr/share/perl5/PVE/API2/Cluster/MetricServer.pm line 283.")
	}
	delete(c.state.Metrics, id)
	delete(c.state.MetricTokens, id)
	return nil, nil
}

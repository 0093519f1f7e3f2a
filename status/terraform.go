package status

import "github.com/proxplane/proxplane/model"

// terraformConsents are what agrees to a step that was refused, as attributes of a resource.
var terraformConsents = map[model.Do]string{
	model.AllowRestart:   `update_policy.restart = "Allow"`,
	model.AllowReplace:   `update_policy.replace = "Allow"`,
	model.AllowDataLoss:  `update_policy.remove_disks = "Allow"`,
	model.AllowStop:      `update_policy.stop = "Allow"`,
	model.AllowMove:      `update_policy.move = "Allow"`,
	model.AllowScaleDown: `update_policy.scale_down = "Allow"`,
	model.AllowDelete:    `protection = false`,
	model.AllowLate:      "another look at the plan",
}

resource "proxplane_manifest" "shop" {
  name = "shop"
  yaml = <<-EOT
    apiVersion: infra.virtrigaud.io/v1beta1
    kind: VMClass
    metadata: {name: small}
    spec: {cpus: 1, memory: 1Gi}
    ---
    apiVersion: infra.virtrigaud.io/v1beta1
    kind: VMImage
    metadata: {name: ubuntu}
    spec: {source: ubuntu-22-template}
    ---
    apiVersion: infra.virtrigaud.io/v1beta1
    kind: VirtualMachine
    metadata: {name: cache}
    spec: {classRef: {name: small}, imageRef: {name: ubuntu}}
  EOT
}

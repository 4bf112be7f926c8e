# Thin: each target is one or two commands, printed as they run. docs/install.md explains them.
#   make install PROFILE=beside-cilium VALUES=my-values.yaml KUBECONFIG=~/.kube/prod
PROFILE ?= standalone
VALUES ?=
NAMESPACE ?= kube-system
RELEASE ?= cadastre
HELM ?= helm

CHART := charts/cadastre
FLAGS := --namespace $(NAMESPACE) --set profile=$(PROFILE) $(if $(VALUES),--values $(VALUES))

.PHONY: help install upgrade uninstall manifests

help:
	@echo "make install|upgrade|uninstall [PROFILE=standalone|beside-cilium|doctor] [VALUES=FILE] [NAMESPACE=kube-system]"
	@echo "make manifests    writes the plain manifests of deploy/ from the chart"

install:
	$(HELM) install $(RELEASE) $(CHART) --create-namespace $(FLAGS)

upgrade:
	$(HELM) upgrade $(RELEASE) $(CHART) $(FLAGS)

# Agents first clean their nodes; then the release goes. Resource definitions and objects stay.
uninstall:
	$(HELM) upgrade $(RELEASE) $(CHART) --namespace $(NAMESPACE) --reset-then-reuse-values --set uninstall.cleanNodes=true --wait
	$(HELM) uninstall $(RELEASE) --namespace $(NAMESPACE)

manifests:
	npm run chart

"""``import lime_guarantee.auto`` gives all explanations a `guarantee_region` method: it calls `install`."""

from lime_guarantee.adapters.hooks import install

install()

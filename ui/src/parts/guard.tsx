// SPDX-License-Identifier: MIT
// A view that fails does not take the page with it.
import { Component, ComponentChildren } from "preact";
import { Notice } from "./states";

interface Props {
	/** Another place: try again. */
	name: string;
	children: ComponentChildren;
}

export class Guard extends Component<Props, { failed: string; at: string }> {
	state = { failed: "", at: "" };

	componentDidCatch(error: unknown) {
		this.setState({ failed: error instanceof Error ? error.message : String(error), at: this.props.name });
	}

	render() {
		const { failed, at } = this.state;
		if (failed && at === this.props.name)
			return <Notice title="This view failed" text={`Error: ${failed}. Please report it, with the recording if you can. The other views still work, and leadline report prints the same figures.`} />;
		return this.props.children;
	}
}
